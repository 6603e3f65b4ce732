"""Sessions that look real, for the pictures of the inspector: agents at work on a made-up shop, in four dialects.

They are played against the scripted provider, so every bill and every cached prefix is what a provider would tell.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import anthropic
import openai
from google import genai

import fanfold
from fanfold.testing.provider import Provider, Received, Turn

FILES = ("invoice.py", "money.py", "tax.py", "discounts.py", "ledger.py", "export_csv.py")
VERBS = ("round", "split", "apply", "collect", "check", "convert", "merge", "post")
NOUNS = ("amount", "line", "rate", "total", "discount", "currency", "balance", "entry")
FOUND = (
    "{file} rounds each line before the sum. The test wants the sum first.",
    "{file} is not the cause: it passes Decimal through unchanged.",
    "In {file} the rate is a float. 0.1 + 0.2 is where the missing cent comes from.",
    "I decided to round once, at the end, with ROUND_HALF_EVEN as the accountants do.",
    "{file} calls split_amount twice. I keep the call in the ledger and drop the other.",
)
TOOLS = {
    "read": "Read a file.",
    "search": "Search the project.",
    "run": "Run a command.",
    "edit": "Change a file.",
}


class Step(NamedTuple):
    """What an agent says and does, and what the tool answers."""

    said: str
    tool: str
    given: dict[str, Any]
    output: str
    thought: str = ""


def code(file: str, seed: int, functions: int) -> str:
    """Some code that nobody ever wrote."""
    pick = random.Random(f"{file}{seed}")
    parts = [
        f'"""{file}: amounts are Decimal, in the currency of the customer."""\n\nfrom decimal import Decimal\n'
    ]
    for _ in range(functions):
        verb, noun, other = pick.choice(VERBS), pick.choice(NOUNS), pick.choice(NOUNS)
        parts.append(
            f"\ndef {verb}_{noun}({other}: Decimal, places: int = {pick.randrange(2, 5)}) -> Decimal:\n"
            f'    """{verb.title()} the {noun} of one {other}."""\n'
            f"    step = Decimal(10) ** -places\n"
            f"    if {other} < {pick.randrange(1, 90)}:\n"
            f'        raise ValueError(f"{noun} of {{{other}}} is too small")\n'
            f"    return ({other} * Decimal('{pick.random():.3f}')).quantize(step)\n"
        )
    return "".join(parts)


def failing(step: int) -> str:
    """A run of tests in which one fails."""
    passed = "\n".join(
        f"tests/test_{file[:-3]}.py {'.' * (9 + n)} [{15 * n + 10:3d}%]" for n, file in enumerate(FILES)
    )
    cents = 100 + step
    return (
        f"============ test session starts ============\n{passed}\n================= FAILURES ==================\n"
        f"___________ test_total_of_three_lines ___________\n"
        f"    assert invoice.total == Decimal('{cents}.35')\n"
        f"E   AssertionError: assert Decimal('{cents}.34') == Decimal('{cents}.35')\n"
        f"tests/test_invoice.py:{40 + step}: AssertionError\n"
        f"FAILED tests/test_invoice.py::test_total_of_three_lines - one cent is missing\n"
        f"1 failed, {60 + step} passed in 2.31s"
    )


def coding(steps: int) -> Iterator[Step]:
    """An agent looks for a cent that is lost."""
    for n in range(steps):
        file = FILES[n % len(FILES)]
        thought = "The last three reads agree: the sum is right before it is rounded." if n % 7 == 3 else ""
        match n % 6:
            case 0 | 3:
                said = f"Let me read {file} first." if n < 6 else f"I look at {file} again, further down."
                yield Step(
                    said,
                    "read",
                    {"path": f"shop/{file}", "from": n * 40},
                    code(file, n, 7 + n % 3 * 6),
                    thought,
                )
            case 1:
                places = [f"shop/{FILES[(n + k) % 6]}:{(n * 37 + k * 53) % 400 + 1}" for k in range(24)]
                uses = [f"total = {VERBS[k % 8]}_{NOUNS[(n + k) % 8]}(line)" for k in range(24)]
                hits = "\n".join(f"{place}:    {use}" for place, use in zip(places, uses, strict=True))
                yield Step(
                    "Who calls it?", "search", {"pattern": f"{VERBS[n % 8]}_{NOUNS[n % 8]}"}, hits, thought
                )
            case 2:
                said = FOUND[n // 6 % len(FOUND)].format(file=file)
                yield Step(said, "read", {"path": f"shop/{file}"}, code(file, n, 16), thought)
            case 4:
                given = {
                    "path": f"shop/{file}",
                    "old": "quantize(step)",
                    "new": "quantize(step, ROUND_HALF_EVEN)",
                }
                yield Step(
                    f"I change the rounding in {file}.",
                    "edit",
                    given,
                    f"shop/{file}: 1 place changed",
                    thought,
                )
            case _:
                yield Step("I run the tests.", "run", {"command": "pytest -q tests"}, failing(n), thought)


def drawing(width: int = 1_280, height: int = 800) -> str:
    """A picture of some bars, as base64."""
    from base64 import b64encode

    paper, tints = (246, 245, 241), ((37, 99, 235), (217, 119, 6), (5, 150, 105), (124, 58, 237))
    highs = (0.35, 0.6, 0.45, 0.8, 0.55, 0.9, 0.7, 0.62)
    rows = bytearray()
    for y in range(height):
        tops = [
            tints[bar % 4] if 40 < height - y < (height - 80) * high else paper
            for bar, high in enumerate(highs)
        ]
        line = b"".join(bytes(top) * 104 + bytes(paper) * 40 for top in tops)
        rows += b"\0" + bytes(paper) * 64 + line + bytes(paper) * (width - 64 - 144 * len(highs))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(rows), 9)) + chunk(b"IEND", b"")
    return b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def reporting(steps: int) -> Iterator[Step]:
    """An agent that is asked in Japanese and Arabic, and whose tools answer strange things."""
    strange = "\x1b[32mOK\x1b[0m </script><script>alert('no')</script>\x00\x07"
    for n in range(steps):
        rows = "\n".join(
            f"{k:4d} | 東京支店 | الرياض | ¥{k * 1_980:,} | {'▇' * (k % 12 + 1)}" for k in range(30)
        )
        long = f"{n}: " + "売上データ " * 40_000 if n == 2 else rows
        said = (
            "四半期の売上を集計します。",
            "أقرأ أرقام المبيعات لكل فرع.",
            "The branches do not add up yet.",
        )[n % 3]
        yield Step(
            said,
            "read",
            {"path": f"reports/{n}.txt", "言語": "ja"},
            f"{strange}\n{long}",
            "合計が合わない理由を考える。",
        )


MODELS = {
    "openai.chat": "gpt-5.2",
    "openai.responses": "gpt-5.2",
    "anthropic": "claude-opus-4-5",
    "gemini": "gemini-3-pro-preview",
}
PARAMS: dict[str, dict[str, Any]] = {
    "openai.responses": {
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"summary": "auto"},
    },
    "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 1_024}},
}


def asking(dialect: str, provider: Provider) -> Callable[..., Any]:
    """What sends a request, by the SDK of its dialect."""
    told: dict[str, Any] = {"api_key": "none", "max_retries": 0}
    match dialect:
        case "anthropic":
            return anthropic.Anthropic(base_url=provider.anthropic_base_url, **told).messages.create
        case "gemini":
            google = genai.Client(api_key="none", http_options={"base_url": provider.gemini_base_url})
            return lambda **given: google.models.generate_content(
                **given
            )  # a client that nobody holds is closed
    client = openai.OpenAI(base_url=provider.openai_base_url, **told)
    return client.responses.create if dialect == "openai.responses" else client.chat.completions.create


def tools(dialect: str) -> list[dict[str, Any]]:
    """The tools of the agents, as the dialect writes them."""
    made = []
    for name, says in TOOLS.items():
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}
        match dialect:
            case "anthropic":
                made.append({"name": name, "description": says, "input_schema": schema})
            case "gemini":
                function = {"name": name, "description": says, "parameters": schema}
                made.append({"functionDeclarations": [function]})
            case "openai.responses":
                made.append({"type": "function", "name": name, "description": says, "parameters": schema})
            case _:
                function = {"name": name, "description": says, "parameters": schema}
                made.append({"type": "function", "function": function})
    return made


def play(chat: fanfold.Session, dialect: str, steps: list[Step], tick: Callable[[float], None]) -> None:
    """Play the steps: the model says them, the tools answer."""

    def script(request: Received) -> Turn:
        if request.number >= len(steps):
            return Turn("All tests pass now. The cent was lost by rounding each line.")
        one = steps[request.number]
        return Turn(one.said, calls=[(one.tool, one.given)], thinking=one.thought)

    with Provider(script, window=400_000) as provider:
        send = asking(dialect, provider)
        for n, one in enumerate(steps):
            request = chat.request(max_tokens=2_000, **PARAMS.get(dialect, {}))
            tick(2.0 + n % 5)
            reply = chat.receive(send(**request))
            tick(4.0)
            for call in reply.calls:
                chat.answer(call, one.output)
        chat.request(max_tokens=2_000, **PARAMS.get(dialect, {}))
        assert provider.rejected == [], provider.rejected[0].reason
