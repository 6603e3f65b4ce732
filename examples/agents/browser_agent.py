"""A browser agent: pages are large trees, and only the newest matters.

Run it: .venv/bin/python examples/agents/browser_agent.py
"""

from __future__ import annotations

from google import genai

import fanfold
from fanfold import loop
from fanfold.testing.provider import Provider, Received, Turn

STEPS = 30
CLICK = {"name": "click", "parameters": {"type": "object", "properties": {"link": {"type": "string"}}}}
TOOLS = [{"function_declarations": [CLICK]}]


def page(number: int) -> str:
    """A page of a shop: a deep tree with long lists."""
    items = "".join(f"<li><a href='/{i}'><span>Lamp {i}</span><b>{i}.90</b></a></li>" for i in range(150))
    return f"<html><body><main><h1>Lamps, page {number}</h1><ul>{items}</ul></main><footer>…</footer></body></html>"


def script(request: Received) -> Turn:
    """Clicks from page to page, then tells what it found."""
    if request.number < STEPS:
        return Turn(calls=[("click", {"link": f"/page/{request.number + 1}"})])
    return Turn("The cheapest lamp costs 0.90.")


def main() -> None:
    """Look at thirty pages in a window that holds three of them."""
    with Provider(script, window=16_000) as provider:
        client = genai.Client(api_key="any", http_options={"base_url": provider.gemini_base_url})
        options = {
            "model": "gemini-2.5-flash",
            "window": 16_000,
            "tools": TOOLS,
            "filters": [fanfold.prune()],
        }
        with fanfold.open("shop", dialect="gemini", **options) as chat:
            chat.say("Find the cheapest lamp.")
            reply = loop.run(
                chat, lambda request: client.models.generate_content(**request), {"click": click}
            )
            print(reply.text)
            print(chat.view())
            print(f"the first page has {chat.output('o1').size:,} bytes, and all of it is kept")
        print(f"{len(provider.requests)} requests, {len(provider.rejected)} refused")


def click(link: str) -> str:
    """The tool: it opens a link."""
    return page(int(link.rpartition("/")[2]))


if __name__ == "__main__":
    main()
