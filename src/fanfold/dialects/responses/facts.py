"""What tells OpenAI Responses from other dialects."""

from __future__ import annotations

from fanfold.dialects.registry import Body, Facts

_ITEMS = frozenset({"reasoning", "compaction", "compaction_summary", "item_reference", "additional_tools"})
"""Types of items that only Responses has, beside calls and their outputs."""


def is_item(body: Body) -> bool:
    """Whether this is an item of the Responses API that is no message."""
    kind = body.get("type")
    named = isinstance(kind, str) and (kind in _ITEMS or kind.endswith(("_call", "_call_output")))
    return named and "role" not in body


def _is_reply(body: Body) -> bool:
    match body:
        case {"object": "response"} | {"output": list()}:
            return True
        case {"type": str(kind)}:
            return kind.startswith("response.")
    return False


FACTS = Facts(
    field="input",
    frame=("instructions", "tools"),
    most_bytes=50 * 2**20,
    is_reply=_is_reply,
    is_message=is_item,
    request=("input", "instructions", "previous_response_id"),
    message=("type", "call_id"),
    blocks=("input_text", "output_text", "input_image", "input_file"),
)
