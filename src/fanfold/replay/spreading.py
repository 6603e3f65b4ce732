"""Where a replay runs: in this process, on all cores, or on a Ray cluster. Results come in the order of the work."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, TypeVar

from fanfold.errors import MissingExtra
from fanfold.spelling import unknown

ENGINES = ("cores", "ray")
AHEAD = 4
"""So many pieces of work are handed out for each worker, so that none waits while a long one is awaited."""

Work = TypeVar("Work")
Done = TypeVar("Done")


def spread(
    do: Callable[[Work], Done], work: Iterable[Work], engine: str = "cores", workers: int | None = None
) -> Iterator[Done]:
    """Do all work, at most so many pieces at once; without a number, as many as there are cores."""
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    if engine == "ray":
        return _on_ray(do, work, workers)
    return map(do, work) if workers == 1 else _on_cores(do, work, workers or os.cpu_count() or 1)


def _on_cores(do: Callable[[Work], Done], work: Iterable[Work], workers: int) -> Iterator[Done]:
    with ProcessPoolExecutor(workers) as pool:
        yield from _in_order(work, lambda one: pool.submit(do, one), Future.result, AHEAD * workers)


def _on_ray(do: Callable[[Work], Done], work: Iterable[Work], workers: int | None) -> Iterator[Done]:
    ray = _imported()
    ours = not ray.is_initialized()
    if ours:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="warning")
    try:
        most = workers or AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield from _in_order(work, ray.remote(do).remote, ray.get, most)
    finally:
        if ours:
            ray.shutdown()


def _imported() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray tells its makers otherwise
    try:
        import ray  # late: an extra
    except ImportError:
        raise MissingExtra("Install `fanfold[ray]` to replay on a Ray cluster.") from None
    return ray


def _in_order(
    work: Iterable[Work], begin: Callable[[Work], Any], end: Callable[[Any], Done], most: int
) -> Iterator[Done]:
    """Each result in its turn, while at most so many are under way."""
    under_way: deque[Any] = deque()
    for one in work:
        under_way.append(begin(one))
        if len(under_way) >= most:
            yield end(under_way.popleft())
    while under_way:
        yield end(under_way.popleft())
