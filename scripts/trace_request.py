"""How long the way of a request with a reduction is: files, functions, and how often what is computed once is computed.

python scripts/trace_request.py
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import fanfold

SOURCE = Path(fanfold.__file__).parent
ONCE = ("view", "allow", "limits")
"""What a request should need to compute once per version."""


def conversation() -> Iterator[dict[str, Any]]:
    """A request of the user and a long tool loop."""
    yield {"role": "user", "content": "Find out why the nightly build fails. Never touch the vendor folder."}
    for n in range(60):
        call = {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "read", "arguments": f'{{"path": "{n}.py"}}'},
        }
        yield {"role": "assistant", "content": f"Step {n}.", "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": f"c{n}", "content": f"part {n} " + "token queue value " * 60}


def trace() -> Counter[tuple[str, str]]:
    """Every function of fanfold that one request with a reduction enters, and how often."""
    entered: Counter[tuple[str, str]] = Counter()

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)):
            entered[(str(Path(code.co_filename).relative_to(SOURCE)), code.co_qualname)] += 1

    with fanfold.open("traced", model="gpt-4.1", window=8_000) as chat:
        for message in conversation():
            chat.add(message)
        sys.setprofile(watch)
        try:
            chat.request(max_tokens=1_000)
        finally:
            sys.setprofile(None)
        assert chat.stats()["edits"], "nothing was reduced"
    return entered


def main() -> None:
    """Print the figures, and the functions by file."""
    entered = trace()
    print(f"{len({file for file, _ in entered})} files, {len(entered)} functions, {entered.total():,} calls")
    for name in ONCE:
        for (file, function), times in sorted(entered.items()):
            if function.rpartition(".")[2] == name:
                print(f"  {times:4} × {function} ({file})")
    if "--all" in sys.argv:
        for (file, function), times in sorted(entered.items()):
            print(f"{times:8,}  {file}  {function}")


if __name__ == "__main__":
    main()
