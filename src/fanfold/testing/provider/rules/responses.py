"""The rules of OpenAI's Responses."""

import re
from collections.abc import Iterator
from typing import Any

from fanfold.testing.provider.rejection import JudgeTerms, Refusals, Rejection, Rule, collector
from fanfold.testing.provider.seal import required_reasoning
from fanfold.testing.provider.wire import Wire, objects, with_places

from . import openai

RULES: list[Rule] = []
rule = collector(RULES)

CALLS = {
    "function_call": ("function_call_output", "function call"),
    "custom_tool_call": ("custom_tool_call_output", "custom tool call"),
    "local_shell_call": ("local_shell_call_output", "local shell call"),
    "shell_call": ("shell_call_output", "shell call"),
    "apply_patch_call": ("apply_patch_call_output", "apply patch call"),
    "computer_call": ("computer_call_output", "computer call"),
    "tool_search_call": ("tool_search_output", "tool search call"),
}
WITHOUT_OUTPUT = {"apply_patch_call_output", "tool_search_output"}
OUTPUTS = {output: (call, words) for call, (output, words) in CALLS.items()}
MODEL_MADE = {*CALLS, "reasoning", "file_search_call", "web_search_call", "image_generation_call"}
MODEL_MADE |= {
    "code_interpreter_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_call",
    "tool_search_call",
}
MODEL_MADE |= {"compaction", "compaction_summary", "program"}
OTHERS = {"message", "item_reference", "mcp_approval_response", "tool_search_output", "additional_tools"}
OTHERS |= {"agent_message", "compaction_trigger", "configuration_update", "program_output"}
KINDS = tuple(sorted({*MODEL_MADE, *OUTPUTS, *OTHERS}))
ROLES = ("assistant", "system", "developer", "user")
SAID = ("output_text", "refusal")
TOLD = ("input_text", "input_image", "input_file", "input_audio")
SEARCHES = r"gpt-(5\.[4-9]|[6-9])"
PREFIXES = {"function_call": "fc", "reasoning": "rs", "message": "msg", "custom_tool_call": "ctc"}
NAME = "^[a-zA-Z0-9_-]{1,64}$"


@rule
def model_is_given(body: Wire, terms: JudgeTerms) -> Refusals:
    """A request names its model."""
    if not terms.model:
        yield openai.missing("model")


@rule
def input_is_given(body: Wire, terms: JudgeTerms) -> Refusals:
    """A request has an input: a string or an array of at least one item."""
    given = body.get("input")
    if given or body.get("prompt") or body.get("previous_response_id") or body.get("conversation"):
        return
    text = "One of 'input' or 'previous_response_id' or 'prompt' or 'conversation_id' must be provided."
    yield Rejection(text, param="input", code="missing_required_parameter")


@rule
def items_are_objects(body: Wire, terms: JudgeTerms) -> Refusals:
    """An input that is no string is an array of objects."""
    given = body.get("input")
    if not isinstance(given, str | list | None):
        yield openai.wrong_type("input", "one of a string or array of input items", given)
    for at, item in enumerate(given if isinstance(given, list) else ()):
        if not isinstance(item, dict):
            yield openai.wrong_type(f"input[{at}]", "an object", item)


@rule
def nothing_is_remembered(body: Wire, terms: JudgeTerms) -> Refusals:
    """`previous_response_id` names a stored response, and this server stores none."""
    before = body.get("previous_response_id")
    if before is not None:
        text = f"Previous response with id '{before}' not found."
        yield Rejection(text, param="previous_response_id", code="previous_response_not_found")


@rule
def kinds_are_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """An item is of a known type."""
    for at, item in with_places(body.get("input")):
        if _kind(item) not in KINDS:
            yield openai.unknown_value(f"input[{at}]", item.get("type"), *KINDS)


@rule
def references_are_stored(body: Wire, terms: JudgeTerms) -> Refusals:
    """An item reference names a stored item, and this server stores none."""
    for _at, item in with_places(body.get("input")):
        if item.get("type") == "item_reference":
            yield Rejection(f"Item with id '{item.get('id')}' not found.", status=404, param="input")


@rule
def roles_are_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """A message's role is one of four."""
    for at, item in with_places(body.get("input")):
        if _kind(item) == "message" and item.get("role") not in ROLES:
            yield openai.unknown_value(f"input[{at}].role", item.get("role"), *ROLES)


@rule
def messages_have_content(body: Wire, terms: JudgeTerms) -> Refusals:
    """A message has content: a string or an array of objects."""
    for at, item in with_places(body.get("input")):
        content = item.get("content")
        if _kind(item) != "message" or isinstance(content, str):
            continue
        if content is None:
            yield openai.missing(f"input[{at}].content")
        if not isinstance(content, list) or len(objects(content)) != len(content):
            yield openai.wrong_type(f"input[{at}].content", "one of a string or array of objects", content)


@rule
def parts_fit_their_role(body: Wire, terms: JudgeTerms) -> Refusals:
    """The assistant's parts are output parts, everyone else's are input parts."""
    for at, item in with_places(body.get("input")):
        if _kind(item) != "message":
            continue
        known = SAID if item.get("role") == "assistant" else TOLD
        for nth, part in with_places(item.get("content")):
            if part.get("type") not in known:
                yield openai.unknown_value(f"input[{at}].content[{nth}]", part.get("type"), *known)


@rule
def strings_are_short_enough(body: Wire, terms: JudgeTerms) -> Refusals:
    """No text or output is longer than ten mebibytes of characters."""
    for at, item in with_places(body.get("input")):
        texts = [
            item.get("output"),
            item.get("content"),
            *(p.get("text") for p in objects(item.get("content"))),
        ]
        longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
        if longest > terms.limits.text:
            yield openai.too_long(f"input[{at}]", terms.limits.text, longest)


@rule
def ids_have_their_prefix(body: Wire, terms: JudgeTerms) -> Refusals:
    """An item's id begins with the prefix of its type."""
    for at, item in with_places(body.get("input")):
        prefix, mine = PREFIXES.get(_kind(item), ""), item.get("id")
        if mine is not None and not str(mine).startswith(prefix):
            text = f"Invalid 'input[{at}].id': '{mine}'. Expected an ID that begins with '{prefix}'."
            yield Rejection(text, param=f"input[{at}].id", code="invalid_value")


@rule
def ids_are_plain(body: Wire, terms: JudgeTerms) -> Refusals:
    """An item's id is made of letters, digits, underscores and dashes."""
    for at, item in with_places(body.get("input")):
        mine = item.get("id")
        if mine is not None and not re.fullmatch(r"[a-zA-Z0-9_-]+", str(mine)):
            yield Rejection(
                f"Invalid 'input[{at}].id': '{mine}'. Expected an ID that contains letters, numbers, "
                "underscores, or dashes, but this value contained additional characters.",
                param=f"input[{at}].id",
                code="invalid_value",
            )


@rule
def ids_are_unique(body: Wire, terms: JudgeTerms) -> Refusals:
    """No two items have the same id."""
    seen: set[str] = set()
    for _at, item in with_places(body.get("input")):
        if item.get("id") in seen:
            text = f"Duplicate item found with id {item['id']}."
            yield Rejection(f"{text} Remove duplicate items from your input and try again.", param="input")
        seen |= {item["id"]} if item.get("id") else set()


@rule
def calls_have_ids(body: Wire, terms: JudgeTerms) -> Refusals:
    """A call and its output carry a call id."""
    for at, item in _items(body, *CALLS, *OUTPUTS):
        if not isinstance(item.get("call_id"), str):
            yield openai.missing(f"input[{at}].call_id")
        if not item["call_id"]:
            yield openai.too_short(f"input[{at}].call_id")


@rule
def call_ids_are_short(body: Wire, terms: JudgeTerms) -> Refusals:
    """A call id has at most 64 characters."""
    for at, item in _items(body, *CALLS, *OUTPUTS):
        if len(item["call_id"]) > 64:
            yield openai.too_long(f"input[{at}].call_id", 64, len(item["call_id"]))


@rule
def calls_name_a_function(body: Wire, terms: JudgeTerms) -> Refusals:
    """A called function's name is made of letters, digits, underscores and dashes."""
    for at, item in _items(body, "function_call"):
        if not re.match(NAME, str(item.get("name", ""))):
            yield openai.wrong_pattern(f"input[{at}].name", NAME)


@rule
def arguments_are_text(body: Wire, terms: JudgeTerms) -> Refusals:
    """A function call's arguments are JSON in a string, not an object."""
    for at, item in _items(body, "function_call"):
        if not isinstance(item.get("arguments"), str):
            yield openai.wrong_type(f"input[{at}].arguments", "a string", item.get("arguments"))


@rule
def outputs_are_given(body: Wire, terms: JudgeTerms) -> Refusals:
    """A call's output has something in it, be it an empty string."""
    for at, item in _items(body, *OUTPUTS):
        if item.get("output") is None and item["type"] not in WITHOUT_OUTPUT:
            yield openai.missing(f"input[{at}].output")


@rule
def outputs_have_calls(body: Wire, terms: JudgeTerms) -> Refusals:
    """An output comes after the call it answers, of the same kind."""
    called: set[tuple[str, str]] = set()
    for _at, item in _items(body, *CALLS, *OUTPUTS):
        if item["type"] in CALLS:
            called.add((item["type"], item["call_id"]))
            continue
        call, words = OUTPUTS[item["type"]]
        if (call, item["call_id"]) not in called:
            text = f"No tool call found for {words} output with call_id {item['call_id']}."
            yield Rejection(text, param="input")


@rule
def calls_have_outputs(body: Wire, terms: JudgeTerms) -> Refusals:
    """Every call is answered somewhere behind it."""
    answered = {(item["type"], item["call_id"]) for _at, item in _items(body, *OUTPUTS)}
    for _at, item in _items(body, *CALLS):
        output, words = CALLS[item["type"]]
        if (output, item["call_id"]) not in answered:
            yield Rejection(f"No tool output found for {words} {item['call_id']}.", param="input")


@rule
def call_ids_are_unique(body: Wire, terms: JudgeTerms) -> Refusals:
    """No two calls have the same call id."""
    seen: set[str] = set()
    for _at, item in _items(body, *CALLS):
        if item["call_id"] in seen:
            yield Rejection(f"Duplicate call found with call_id {item['call_id']}.", param="input")
        seen.add(item["call_id"])


@rule
def reasoning_has_a_summary(body: Wire, terms: JudgeTerms) -> Refusals:
    """A reasoning item has a summary, be it an empty array."""
    for at, item in _items(body, "reasoning"):
        if not isinstance(item.get("summary"), list):
            yield openai.missing(f"input[{at}].summary")


@rule
def reasoning_is_followed(body: Wire, terms: JudgeTerms) -> Refusals:
    """A reasoning item is followed by what the model made of it."""
    items = objects(body.get("input"))
    for at, item in enumerate(items):
        after = items[at + 1] if at + 1 < len(items) else {"type": "", "role": ""}
        if _kind(item) == "reasoning" and not _is_models(after):
            name = item.get("id", "rs_")
            text = f"Item '{name}' of type 'reasoning' was provided without its required following item."
            yield Rejection(text, param="input")


@rule
def reasoning_is_kept(body: Wire, terms: JudgeTerms) -> Refusals:
    """An item that the model made after reasoning comes with that reasoning before it."""
    seen: set[str] = set()
    for _at, item in with_places(body.get("input")):
        mine = str(item.get("id") or "")
        wanted = required_reasoning(mine)
        if wanted is not None and wanted not in seen:
            yield Rejection(
                f"Item '{mine}' of type '{_kind(item)}' was provided without its required 'reasoning' item: "
                f"'{wanted}'.",
                param="input",
            )
        seen.add(mine)


@rule
def encrypted_content_verifies(body: Wire, terms: JudgeTerms) -> Refusals:
    """Encrypted reasoning comes back as this server gave it, under the same id."""
    for _at, item in _items(body, "reasoning", "compaction"):
        sealed = item.get("encrypted_content")
        if sealed is None or (terms.foreign and terms.seal.foreign(str(sealed))):
            continue
        opened = terms.seal.open(str(sealed))
        if opened is None or item.get("id", opened["item"]) != opened["item"]:
            name = item.get("id") or f"{str(sealed)[:4]}...{str(sealed)[-4:]}"
            text = f"The encrypted content for item {name} could not be verified."
            yield Rejection(text, param="input", code="invalid_encrypted_content")


@rule
def unstored_reasoning_is_encrypted(body: Wire, terms: JudgeTerms) -> Refusals:
    """With `store` off, reasoning comes with its encrypted content, for nobody has kept it."""
    for _at, item in _items(body, "reasoning"):
        if body.get("store") is False and not item.get("encrypted_content"):
            yield Rejection(
                f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to "
                "false. Try again with `store` set to true, or remove this item from your input.",
                status=404,
                param="input",
            )


@rule
def tools_are_few(body: Wire, terms: JudgeTerms) -> Refusals:
    """A request offers at most 128 tools."""
    tools = body.get("tools") or []
    if not isinstance(tools, list):
        yield openai.wrong_type("tools", "an array of objects", tools)
    if len(tools) > terms.limits.tools:
        yield openai.too_many("tools", terms.limits.tools, len(tools))


@rule
def tools_have_types(body: Wire, terms: JudgeTerms) -> Refusals:
    """A tool says of which kind it is."""
    for at, tool in with_places(body.get("tools")):
        if not isinstance(tool.get("type"), str):
            yield openai.missing(f"tools[{at}].type")


@rule
def tools_have_names(body: Wire, terms: JudgeTerms) -> Refusals:
    """A function tool has a name of letters, digits, underscores and dashes, beside its type."""
    for at, tool in with_places(body.get("tools")):
        if tool.get("type") == "function" and not re.match(NAME, str(tool.get("name", ""))):
            yield openai.missing(f"tools[{at}].name")


@rule
def search_is_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """Only newer models have `tool_search`, which every tool that waits needs."""
    tools = objects(body.get("tools"))
    waiting = [at for at, tool in enumerate(tools) if tool.get("defer_loading") is True]
    searches = [at for at, tool in enumerate(tools) if tool.get("type") == "tool_search"]
    if searches and not re.match(SEARCHES, terms.model):
        text = f"Tool 'tool_search' is not supported with {terms.model}."
        yield Rejection(f"Invalid value: {text}", param=f"tools[{searches[0]}]")
    if waiting and not searches:
        text = "Deferred tools require the 'tool_search' tool."
        yield Rejection(text, param=f"tools[{waiting[0]}].defer_loading", code="invalid_value")


@rule
def choice_is_there(body: Wire, terms: JudgeTerms) -> Refusals:
    """The function that the model has to call is among the tools, and does not wait."""
    choice = body.get("tool_choice")
    name = choice.get("name") if isinstance(choice, dict) and choice.get("type") == "function" else None
    there = [tool.get("name") for tool in objects(body.get("tools")) if not tool.get("defer_loading")]
    if name is not None and name not in there:
        yield Rejection(f"Tool choice '{name}' not found in 'tools' parameter.", param="tool_choice")


@rule
def ceiling_is_high_enough(body: Wire, terms: JudgeTerms) -> Refusals:
    """`max_output_tokens` is at least 16."""
    ceiling = body.get("max_output_tokens")
    if isinstance(ceiling, int) and ceiling < 16:
        yield Rejection(
            "Invalid 'max_output_tokens': integer below minimum value. "
            f"Expected a value >= 16, but got {ceiling} instead.",
            param="max_output_tokens",
            code="integer_below_min_value",
        )


def _kind(item: Wire) -> str:
    kind: Any = item.get("type", "message" if "role" in item else None)
    return str(kind)


def _is_models(item: Wire) -> bool:
    return _kind(item) in MODEL_MADE or (_kind(item) == "message" and item.get("role") == "assistant")


def _items(body: Wire, *kinds: str) -> Iterator[tuple[int, Wire]]:
    """The items of some kinds; a search for tools that the server made itself is no call to be answered."""
    found = ((at, item) for at, item in with_places(body.get("input")) if item.get("type") in kinds)
    return (
        (at, item)
        for at, item in found
        if "tool_search" not in item["type"] or item.get("call_id") is not None
    )
