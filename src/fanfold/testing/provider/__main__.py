"""`python -m fanfold.testing.provider`: a provider on this machine, to try a client or the gateway without a key.

It answers every request with one sentence, and bills what it counted. With --script it plays the steps of a file, one
for each request, and after the last one the sentences again.
"""

import argparse
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from .provider import Provider, Step
from .request import Received
from .script import Turn, read_script


def answer(request: Received) -> Turn:
    """One sentence that tells what came."""
    sent = next(
        (len(request.body[name]) for name in ("messages", "contents", "input") if name in request.body), 0
    )
    said = len(json.dumps(request.body))
    messages = "1 message" if sent == 1 else f"{sent:,} messages"
    return Turn(f"This is request {request.number + 1}, with {messages} in {said:,} characters.")


def play(steps: Sequence[Step]) -> Callable[[Received], Step]:
    """Each step for one request, then sentences."""
    left = iter(steps)
    return lambda request: next(left, None) or answer(request)


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m fanfold.testing.provider", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="the port to listen on (default: any free one)")
    parser.add_argument("--window", type=int, default=200_000, help="tokens above which a request is refused")
    parser.add_argument("--script", type=Path, help="a JSON list of replies, one for each request")
    given = parser.parse_args()
    steps: Sequence[Step] = ()
    if given.script is not None:
        try:
            steps = read_script(given.script.read_text(encoding="utf-8"))
        except OSError as problem:
            parser.error(f"{given.script}: {(problem.strerror or str(problem)).lower()}")
        except ValueError as problem:
            parser.error(f"{given.script}: {problem}")
    with Provider(play(steps), window=given.window, port=given.port) as provider:
        print(f"OpenAI:            {provider.openai_base_url}")
        print(f"Anthropic, Gemini: {provider.url}")
        print("Any key will do. Ctrl-C ends it.", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
