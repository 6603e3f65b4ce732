"""`python -m fanfold.testing.provider`: a provider on this machine, to try a client or the gateway without a key.

It answers every request with one sentence, and bills what it counted.
"""

import argparse
import json
import threading

from .provider import Provider
from .request import Received
from .script import Turn


def answer(request: Received) -> Turn:
    """One sentence that tells what came."""
    sent = next(
        (len(request.body[name]) for name in ("messages", "contents", "input") if name in request.body), 0
    )
    said = len(json.dumps(request.body))
    messages = "1 message" if sent == 1 else f"{sent:,} messages"
    return Turn(f"This is request {request.number + 1}, with {messages} in {said:,} characters.")


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m fanfold.testing.provider", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="the port to listen on (default: any free one)")
    parser.add_argument("--window", type=int, default=200_000, help="tokens above which a request is refused")
    given = parser.parse_args()
    with Provider(answer, window=given.window, port=given.port) as provider:
        print(f"OpenAI:            {provider.openai_base_url}")
        print(f"Anthropic, Gemini: {provider.url}")
        print("Any key will do. Ctrl-C ends it.", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
