"""Write src/fanfold/model_table.py from LiteLLM's public table of models (MIT; facts only).

    python scripts/refresh_models.py                    fetches the newest package with pip
    python scripts/refresh_models.py prices.json        reads a file
    python scripts/refresh_models.py prices.json --date 2026-11-15

The same file and date give the same bytes. Facts of ours that the public table lacks or has wrong
are in OURS; how it says what it means is in `limits`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fanfold.tokens import model_names

HERE = Path(__file__).resolve().parent
TABLE = HERE.parent / "src" / "fanfold" / "model_table.py"
INSIDE = "litellm/model_prices_and_context_window_backup.json"

Fact = dict[str, Any]
Row = tuple[str, int, int, "int | None", bool, "int | None", str, str, tuple[tuple[float | None, ...], ...]]

PLAIN = r"(?!.*(guard|ocr|mt-plus|turbo|fp8|ultra))"
"""Not a host's own cut of open weights, nor something other than chat."""

SOURCES: tuple[tuple[str, str, str], ...] = (
    ("openai", "openai", r"(ft:)?(gpt-(?!daybreak)|o\d|chatgpt-|codex-|computer-use|chat-latest)"),
    ("anthropic", "anthropic", r"claude-"),
    ("gemini", "gemini", r"(gemini-|gemma-)(?!.*(tts|gemma-2))"),
    ("vertex_ai-language-models", "gemini", r"gemini-(?!.*tts)"),
    ("vertex_ai", "gemini", r"gemini-"),
    ("deepseek", "deepseek", r"deepseek-"),
    ("mistral", "mistral", r"(?!.*glm)"),
    ("xai", "xai", r"grok-(?!.*(beta|experimental|gv2))"),
    ("moonshot", "moonshot", r""),
    ("zai", "zai", r"glm-"),
    ("minimax", "minimax", r"minimax-"),
    ("cohere_chat", "cohere", r"command-"),
    ("dashscope", "qwen", r"(qwen|qwq)"),
    ("groq", "groq", r"(gpt-oss|llama-(?!.*guard)|qwen)"),
    ("amazon_nova", "amazon", r"nova-(?!.*-v1$)"),
    ("bedrock_converse", "amazon", r"nova-"),
    ("xiaomi_mimo", "xiaomi", r"mimo-"),
    ("meta", "meta", r"muse-"),
    ("perplexity", "perplexity", r"sonar(-pro|-reasoning|-deep|$)"),
    ("azure", "openai", r"(gpt-4|o\d)(?!.*(realtime|audio))"),
    ("vertex_ai-mistral_models", "mistral", r"(mistral-(large|medium|small)|codestral)-2\d{3}"),
    ("azure_ai", "mistral", r"mistral-(large|medium|small)-2\d{3}"),
    ("cerebras", "", r"llama-"),
    ("deepinfra", "", r"(meta-)?(llama|qwen|qwq|deepseek|kimi|glm|gemma|mi[sx]tral|phi-4|minimax)" + PLAIN),
    ("novita", "", r"(llama|qwen|deepseek|kimi|glm|gemma|mi[sx]tral|minimax|mimo)" + PLAIN),
)
"""LiteLLM's provider, who bills (empty: open weights, everybody's own price), which names. First wins."""

OURS: dict[str, Fact] = {
    # Retired or renamed, yet asked for by transcripts and old configurations.
    "gemini/gemini-1.5-pro": {
        "max_input_tokens": 2_097_152,
        "max_output_tokens": 8_192,
        "input_cost_per_token": 1.25e-6,
        "output_cost_per_token": 5e-6,
        "cache_read_input_token_cost": 0.3125e-6,
        "input_cost_per_token_above_128k_tokens": 2.5e-6,
        "output_cost_per_token_above_128k_tokens": 10e-6,
        "cache_read_input_token_cost_above_128k_tokens": 0.625e-6,
    },
    "gemini/gemini-1.5-flash": {
        "max_input_tokens": 1_048_576,
        "max_output_tokens": 8_192,
        "input_cost_per_token": 0.075e-6,
        "output_cost_per_token": 0.3e-6,
        "input_cost_per_token_above_128k_tokens": 0.15e-6,
        "output_cost_per_token_above_128k_tokens": 0.6e-6,
    },
    "gemini/gemini-1.5-flash-8b": {
        "max_input_tokens": 1_048_576,
        "max_output_tokens": 8_192,
        "input_cost_per_token": 0.0375e-6,
        "output_cost_per_token": 0.15e-6,
    },
    "gemini/gemini-2.0-flash": {
        "max_input_tokens": 1_048_576,
        "max_output_tokens": 8_192,
        "input_cost_per_token": 0.1e-6,
        "output_cost_per_token": 0.4e-6,
        "cache_read_input_token_cost": 0.025e-6,
    },
    "gemini/gemini-2.0-flash-lite": {
        "max_input_tokens": 1_048_576,
        "max_output_tokens": 8_192,
        "input_cost_per_token": 0.075e-6,
        "output_cost_per_token": 0.3e-6,
    },
    "gemini/gemini-2.5-flash-image": {
        "max_input_tokens": 65_536,
        "max_output_tokens": 32_768,
        "input_cost_per_token": 0.3e-6,
        "output_cost_per_token": 2.5e-6,
    },
    "gpt-3.5-turbo-instruct": {
        "litellm_provider": "openai",
        "max_input_tokens": 4_096,
        "max_output_tokens": 4_096,
        "input_cost_per_token": 1.5e-6,
        "output_cost_per_token": 2e-6,
        "mode": "chat",
    },
    "chatgpt-4o-latest": {
        "litellm_provider": "openai",
        "max_input_tokens": 128_000,
        "max_output_tokens": 16_384,
        "input_cost_per_token": 5e-6,
        "output_cost_per_token": 15e-6,
    },
    "codex-mini-latest": {
        "litellm_provider": "openai",
        "mode": "responses",
        "max_input_tokens": 200_000,
        "max_output_tokens": 100_000,
        "input_cost_per_token": 1.5e-6,
        "output_cost_per_token": 6e-6,
        "cache_read_input_token_cost": 0.375e-6,
        "supports_reasoning": True,
    },
    "xai/grok-2": {"max_input_tokens": 131_072, "input_cost_per_token": 2e-6, "output_cost_per_token": 10e-6},
    "xai/grok-3": {
        "max_input_tokens": 131_072,
        "input_cost_per_token": 3e-6,
        "output_cost_per_token": 15e-6,
        "cache_read_input_token_cost": 0.75e-6,
    },
    "xai/grok-3-mini": {
        "max_input_tokens": 131_072,
        "input_cost_per_token": 0.3e-6,
        "output_cost_per_token": 0.5e-6,
        "cache_read_input_token_cost": 0.075e-6,
        "supports_reasoning": True,
    },
    "xai/grok-4": {
        "max_input_tokens": 256_000,
        "input_cost_per_token": 3e-6,
        "output_cost_per_token": 15e-6,
        "cache_read_input_token_cost": 0.75e-6,
        "supports_reasoning": True,
    },
    "xai/grok-4-fast": {
        "max_input_tokens": 2_000_000,
        "input_cost_per_token": 0.2e-6,
        "output_cost_per_token": 0.5e-6,
        "cache_read_input_token_cost": 0.05e-6,
        "supports_reasoning": True,
    },
    "xai/grok-4.1-fast": {
        "max_input_tokens": 2_000_000,
        "input_cost_per_token": 0.2e-6,
        "output_cost_per_token": 0.5e-6,
        "cache_read_input_token_cost": 0.05e-6,
        "supports_reasoning": True,
    },
    # OpenAI states 400,000 for input and output together, and 272,000 for input.
    "gpt-5-pro": {"max_input_tokens": 272_000, "window": 400_000},
    "gpt-5-pro-2025-10-06": {"max_input_tokens": 272_000, "window": 400_000},
    "azure/eu/o1-preview": {"mode": ""},
    "ft:gpt-4o-2024-11-20": {
        "cache_creation_input_token_cost": None,
        "cache_read_input_token_cost": 1.875e-6,
    },
    "gpt-4": {"max_output_tokens": 8_192},
    **{
        name: {
            "litellm_provider": "anthropic",
            "max_input_tokens": 200_000,
            "max_output_tokens": output,
            "input_cost_per_token": price * 1e-6,
            "output_cost_per_token": price * 5e-6,
            "cache_read_input_token_cost": price * 0.1e-6,
            "cache_creation_input_token_cost": price * 1.25e-6,
            "cache_creation_input_token_cost_above_1hr": price * 2e-6,
            "prompt_cache_min_tokens": 2_048 if "haiku" in name else 1_024,
            "supports_assistant_prefill": True,
            "supports_function_calling": True,
            "supports_pdf_input": "claude-3-" not in name or "-5-" in name or "-7-" in name,
            "supports_reasoning": "claude-3-" not in name or "-7-" in name,
            "supports_vision": True,
        }
        for name, output, price in (
            ("claude-3-haiku", 4_096, 0.25),
            ("claude-3-sonnet", 4_096, 3.0),
            ("claude-3-opus", 4_096, 15.0),
            ("claude-3-5-haiku", 8_192, 0.8),
            ("claude-3-5-sonnet", 8_192, 3.0),
            ("claude-3-7-sonnet", 64_000, 3.0),
            ("claude-sonnet-4", 64_000, 3.0),
            ("claude-opus-4", 32_000, 15.0),
            ("claude-opus-4-1", 32_000, 15.0),
        )
    },
    # With the beta header for a million tokens; prompts up to 200,000 cost as ever.
    **{
        name: {
            "input_cost_per_token_above_200k_tokens": 6e-6,
            "output_cost_per_token_above_200k_tokens": 22.5e-6,
            "cache_read_input_token_cost_above_200k_tokens": 0.6e-6,
            "cache_creation_input_token_cost_above_200k_tokens": 7.5e-6,
            "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 12e-6,
        }
        for name in ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929")
    },
    # The M2 family has 204,800 tokens; the public table says a million from M2.1 on.
    "minimax/MiniMax-M2": {"max_input_tokens": 204_800},
    "minimax/MiniMax-M2.1": {"max_input_tokens": 204_800},
    "minimax/MiniMax-M2.1-lightning": {"max_input_tokens": 204_800},
    "minimax/MiniMax-M2.5": {"max_input_tokens": 204_800},
    "minimax/MiniMax-M2.5-lightning": {"max_input_tokens": 204_800},
    "cohere_chat/command-r": {"max_input_tokens": 128_000, "max_output_tokens": 4_096},
    "cohere_chat/command-r-plus": {"max_input_tokens": 128_000, "max_output_tokens": 4_096},
    "mistral/mistral-nemo": {"max_input_tokens": 128_000},
    "deepinfra/deepseek-r1-distill-llama": {"max_input_tokens": 131_072},
    "deepinfra/deepseek-r1-distill-qwen": {"max_input_tokens": 131_072},
    # Ollama's sizes of deepseek-r1 are distilled from other families.
    **{
        f"deepinfra/deepseek-r1-{size}": {"max_input_tokens": 131_072, "tokenizer": family}
        for family, sizes in {"qwen": ("1.5b", "7b", "14b", "32b"), "llama3": ("8b", "70b")}.items()
        for size in sizes
    },
}
"""Facts over those of the public table, in its own words; `window` and `tokenizer` are our words."""

TOKENIZERS: tuple[tuple[str, str], ...] = (
    (r"gpt-oss", "gpt-oss"),
    (r"(ft-)?gpt-(3|4)(-turbo|-32k|-\d{4}|-vision|-5-turbo|$)", "cl100k"),
    (r"(ft-)?(gpt-|o\d|chatgpt|codex|computer-use|chat-latest)", "o200k"),
    # Claude's vocabulary changed with Opus 4.7: the same text has up to half as many tokens more.
    (r"claude-(opus-4-[789]|(opus|sonnet|haiku)-[5-9]|fable|mythos)", "claude-4.7"),
    (r"claude", "claude"),
    (r"gem(ini|ma)", "gemma"),
    (r"llama-4", "llama4"),
    (r"llama-3|deepseek-r1.*llama", "llama3"),
    (r"llama-2", "llama2"),
    (r"deepseek-r1.*qwen", "qwen"),
    (r"deepseek", "deepseek"),
    (r"qwen3-[5-9](-|$)", "qwen3.5"),
    (r"qwen|qwq", "qwen"),
    (r"(mistral-(7b|tiny|large-2402|small-2402|medium-2312)|mixtral)", "mistral-v1"),
    (r"mi(ni)?stral|magistral|codestral|devstral|pixtral|voxtral|open-mistral|labs-lean", "mistral"),
    (r"kimi|moonshot", "kimi"),
    (r"glm", "glm"),
    (r"grok", "grok"),
    (r"minimax", "minimax"),
    (r"command", "cohere"),
    (r"nova", "nova"),
    (r"phi-4", "phi4"),
    (r"mimo", "mimo"),
)

QUIRKS: tuple[tuple[str, str], ...] = (
    ("documents", "supports_pdf_input"),
    ("images", "supports_vision"),
    ("prefill", "supports_assistant_prefill"),
    ("thinking", "supports_reasoning"),
    ("tools", "supports_function_calling"),
)

NAMED_QUIRKS: tuple[tuple[str, str], ...] = (
    # The answer ends with `model_context_window_exceeded` where older ones refuse the request.
    ("stops_at_window", r"claude-((opus|sonnet|haiku)-(4-[5-9]|[5-9])|fable|mythos)"),
    ("beta_1m", r"claude-sonnet-4(-5)?(-20|$)"),
    ("max_completion_tokens", r"(ft-)?(o\d|gpt-[5-9]|codex)"),
    ("thought_signatures", r"gemini-([3-9]|flash|pro)"),
    # While they think, every message of theirs has to come back with its reasoning.
    ("wants_reasoning", r"deepseek-(reasoner|chat|flash|v3-2|v4)|kimi-k(2-thinking|2-[5-9]|[3-9])"),
    # Anthropic: they think unless told not to; their thinking is void once anything before it changed (documented
    # as preserved thinking); they take system messages among the others.
    ("thinks_unasked", r"claude-((opus|sonnet|haiku|fable|mythos)-([5-9]|\d\d)(?!\d)|mythos-preview)"),
    (
        "binds_thinking",
        r"claude-((fable|mythos)-5-[1-9](?!\d)|(opus|sonnet|haiku)-5-5|(opus|sonnet|haiku|fable|mythos)-[6-9])",
    ),
    # Their provider loads tools that wait: Anthropic by `tool_reference`, OpenAI in Responses by `tool_search`.
    ("tool_search", r"claude-((opus|sonnet)-(4-[5-9]|[5-9]|\d\d)(?!\d)|fable|mythos)|gpt-(5-[4-9]|[6-9])"),
    (
        "system_messages",
        r"claude-(opus-4-[89]|(opus|sonnet|haiku|fable|mythos)-([5-9]|\d\d)(?!\d))",
    ),
)


def main() -> None:
    """Write the table and say how many models it has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="the public JSON; fetched when left out")
    parser.add_argument("--date", default=datetime.now(UTC).date().isoformat())
    parser.add_argument("--out", type=Path, default=TABLE)
    given = parser.parse_args()
    facts = json.loads(given.file.read_text()) if given.file else fetched()
    rows = table(facts)
    given.out.write_text(module(rows, given.date))
    sys.stdout.write(f"{len(rows)} models\n")


def fetched() -> dict[str, Fact]:
    """The public JSON out of the newest package."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "litellm", "--no-deps", "--quiet", "--dest", folder]
        subprocess.run(pip, check=True)
        (wheel,) = Path(folder).glob("litellm-*.whl")
        facts: dict[str, Fact] = json.loads(zipfile.ZipFile(wheel).read(INSIDE))
        return facts


def table(facts: dict[str, Fact]) -> dict[str, Row]:
    """All rows by name, without those that another row's name already finds."""
    rows: dict[str, Row] = {}
    for name, fact, payer in wanted(corrected(facts)):
        rows.setdefault(name, row(name, fact, payer))
    return dict(sorted(without_doubles(rows).items()))


def corrected(facts: dict[str, Fact]) -> dict[str, Fact]:
    """The public facts with ours laid over them."""
    both = {name: dict(fact) for name, fact in facts.items()}
    for name, ours in OURS.items():
        maker = {"litellm_provider": name.split("/")[0], "mode": "chat"}
        both[name] = {**maker, **both.get(name, {}), **ours}
    return both


def wanted(facts: dict[str, Fact]) -> list[tuple[str, Fact, str]]:
    """(name, fact, who bills) of the chat models, the best source of each name first."""
    found: dict[str, tuple[str, Fact, str]] = {}
    for source, payer, names in SOURCES:
        paid = {key for key, model in found.items() if model[2]}
        for full in sorted(facts, key=lambda full: (full not in OURS, len(full), full)):
            name, fact = short(full), facts[full]
            chosen = fact.get("litellm_provider") == source and re.match(names, name, re.IGNORECASE)
            forms = model_names.undated_forms(model_names.key(name))
            if chosen and usable(fact) and (payer or paid.isdisjoint(forms)):
                found.setdefault(model_names.key(name), (name, fact, payer))
    return list(found.values())


def short(full: str) -> str:
    """A name without host, cloud and revision, otherwise as its maker writes it."""
    name = full.rsplit("/", 1)[-1].partition("@")[0]
    cloud = re.match(r"([a-z-]+\.)*(anthropic|amazon)\.", name)
    return re.sub(r"-v\d(:\d)?$", "", name[cloud.end() :]) if cloud else name


def usable(fact: Fact) -> bool:
    """Whether it is a chat model with a known input limit."""
    limit = fact.get("max_input_tokens") or 0
    return fact.get("mode") in ("chat", "responses") and isinstance(limit, int) and limit >= 2_048


def row(name: str, fact: Fact, payer: str) -> Row:
    """One line of the table."""
    key = model_names.key(name)
    window, max_input, max_output, shared = limits(key, fact, payer)
    family = fact.get("tokenizer") or tokenizer(key)
    rest = (least(fact, payer), family, quirks(key, fact), prices(fact) if payer else ())
    return (payer, window, max_input, max_output, shared, *rest)


def limits(key: str, fact: Fact, payer: str) -> tuple[int, int, int | None, bool]:
    """(window, longest input, longest output, whether they share the window)."""
    longest, output = int(fact["max_input_tokens"]), fact.get("max_output_tokens")
    if payer == "gemini":
        return longest, longest, output, False
    if "window" in fact:
        return fact["window"], longest, output, True
    if payer == "openai" and re.match(r"gpt-([5-9]|chat)|chat-latest", key) and output == 128_000:
        window = longest if longest in (400_000, 1_050_000) else longest + output
        return window, window - output, output, True
    if payer == "qwen":
        window = next(size for size in (32_768, 131_072, 262_144, 1_000_000) if size >= longest)
        return window, longest, output, True
    return longest, longest, output, True


def least(fact: Fact, payer: str) -> int | None:
    """The shortest prompt that is cached."""
    given = fact.get("prompt_cache_min_tokens")
    if given:
        return int(given)
    usual = {"openai": 1_024, "gemini": 1_024, "deepseek": 64, "anthropic": 1_024}
    return usual.get(payer) if fact.get("cache_read_input_token_cost") else None


def tokenizer(key: str) -> str:
    """The family of the tokenizer, or nothing."""
    return next((family for pattern, family in TOKENIZERS if re.match(pattern, key)), "")


def quirks(key: str, fact: Fact) -> str:
    """The names of what is special, sorted, in one text."""
    names = {quirk for quirk, field in QUIRKS if fact.get(field)}
    names |= {quirk for quirk, pattern in NAMED_QUIRKS if re.match(pattern, key)}
    if fact.get("mode") == "responses":
        names.add("responses_only")
    return " ".join(sorted(names))


def prices(fact: Fact) -> tuple[tuple[float | None, ...], ...]:
    """Rows of (above, input, output, cache read, write, write for an hour) in dollars per million."""
    if fact.get("tiered_pricing"):
        return tuple(price(step, "", int(step["range"][0])) for step in fact["tiered_pricing"])
    if not fact.get("input_cost_per_token"):
        return ()
    named = (re.fullmatch(r"input_cost_per_token_above_(\d+)k_tokens", field) for field in fact)
    steps = sorted(int(found[1]) for found in named if found)
    return (price(fact, "", 0), *(price(fact, f"_above_{step}k_tokens", step * 1_000) for step in steps))


def price(fact: Fact, suffix: str, above: int) -> tuple[float | None, ...]:
    """One row of prices; what a tier does not name costs as below it."""
    fields = (
        "input_cost_per_token",
        "output_cost_per_token",
        "cache_read_input_token_cost",
        "cache_creation_input_token_cost",
        "cache_creation_input_token_cost_above_1hr",
    )
    return (above, *(million(fact.get(field + suffix) or fact.get(field)) for field in fields))


def million(cost: float | None) -> float | None:
    """Dollars per million tokens, without the noise of binary fractions."""
    return round(cost * 1e6, 6) if cost else None


def without_doubles(rows: dict[str, Row]) -> dict[str, Row]:
    """Rows that would be found, with the same facts, under a shorter name are left out."""
    kept: dict[str, str] = {}
    for name in sorted(rows, key=lambda name: (len(model_names.key(name)), name)):
        key = model_names.key(name)
        found = next((form for form in model_names.undated_forms(key) if form in kept), None)
        if found is None or rows[kept[found]] != rows[name]:
            kept[key] = name
    return {name: rows[name] for name in kept.values()}


def module(rows: dict[str, Row], date: str) -> str:
    """The generated module."""
    lines = [f"    {json.dumps(name)}: {row!r}," for name, row in rows.items()]
    return HEADER.format(date=date, count=len(rows)) + "\n".join(lines) + "\n}\n"


HEADER = '''"""Facts about {count} models, as of {date}.

Generated by scripts/refresh_models.py from LiteLLM's public table (MIT) and corrections kept there.
Do not edit: correct the script and run it.
"""

# fmt: off
# ruff: noqa: E501

from __future__ import annotations

DATE = "{date}"

Row = tuple[str, int, int, "int | None", bool, "int | None", str, str, tuple[tuple["float | None", ...], ...]]
"""(provider, window, max_input, max_output, shared, min_cacheable, tokenizer, quirks, prices)

Prices are rows of (above, input, output, cache_read, cache_write_5m, cache_write_1h)."""

MODELS: dict[str, Row] = {{
'''

if __name__ == "__main__":
    main()
