"""The rules of Gemini's generateContent."""

import base64
import re
from collections.abc import Iterator
from typing import Any

from fanfold.testing.provider.rejection import JudgeTerms, Refusals, Rejection, Rule, collector
from fanfold.testing.provider.wire import Wire, camel, objects, spelled, with_places

RULES: list[Rule] = []
rule = collector(RULES)

ROLES = (None, "user", "model", "function", "tool")
DATA = {"text", "inlineData", "inline_data", "functionCall", "function_call", "functionResponse"}
DATA |= {"function_response", "fileData", "file_data", "executableCode", "executable_code"}
DATA |= {
    "codeExecutionResult",
    "code_execution_result",
    "toolCall",
    "toolResponse",
    "tool_call",
    "tool_response",
}
BESIDE = {
    "thought",
    "thoughtSignature",
    "thought_signature",
    "videoMetadata",
    "video_metadata",
    "partMetadata",
}
BESIDE |= {"part_metadata", "mediaResolution", "media_resolution"}
SIGNING = re.compile(r"gemini-([3-9]|\d\d)(?!.*image)")
UNCHECKED = {"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}
"""Signatures that the documentation offers for histories from elsewhere."""
TOOLS = {"functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext"}
TOOLS |= {"computerUse", "fileSearch", "googleMaps", "mcpServers", "retrieval", "enterpriseWebSearch"}
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
NAMES = (
    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), "
    "underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 64."
)
_UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)


@rule
def contents_are_given(body: Wire, terms: JudgeTerms) -> Refusals:
    """A request has at least one content."""
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        yield Rejection("* GenerateContentRequest.contents: contents is not specified\n")


@rule
def contents_are_objects(body: Wire, terms: JudgeTerms) -> Refusals:
    """A content is an object with nothing but a role and parts."""
    for at, content in enumerate(body["contents"]):
        if not isinstance(content, dict):
            yield Rejection(f"Invalid value at 'contents[{at}]' (type.googleapis.com/google.ai.Content)")
        extra = next((key for key in content if key not in ("role", "parts")), None)
        if extra is not None:
            yield _unknown(extra, f"contents[{at}]")


@rule
def roles_are_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """A content's role is user or model; function and tool are older words for user."""
    if any(content.get("role") not in ROLES for content in body["contents"]):
        yield Rejection("Please use a valid role: user, model.")


@rule
def contents_have_parts(body: Wire, terms: JudgeTerms) -> Refusals:
    """A content has at least one part."""
    for at, content in with_places(body["contents"]):
        parts = content.get("parts")
        if not isinstance(parts, list) or not parts:
            yield Rejection(
                f"* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.\n"
            )


@rule
def parts_are_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """A part is an object of known fields."""
    for place, part in _parts(body):
        if not isinstance(part, dict):
            yield Rejection(f"Invalid value at '{place}' (type.googleapis.com/google.ai.Part)")
        extra = next((key for key in part if key not in DATA | BESIDE), None)
        if extra is not None:
            yield _unknown(extra, place)


@rule
def parts_have_data(body: Wire, terms: JudgeTerms) -> Refusals:
    """A part carries something; an empty text only beside a thought signature."""
    for place, part in _parts(body):
        if not any(_is_data(key, part) for key in part if key in DATA):
            text = "required oneof field 'data' must have one initialized field"
            yield Rejection(f"* GenerateContentRequest.{place}.data: {text}\n")


@rule
def parts_have_one_thing(body: Wire, terms: JudgeTerms) -> Refusals:
    """A part carries one thing only."""
    for place, part in _parts(body):
        given = [key for key in part if key in DATA and part[key] is not None]
        if len(given) > 1:
            text = f"Invalid value at '{place}' (oneof), oneof field 'data' is already set."
            yield Rejection(f"{text} Cannot set '{given[1]}'")


@rule
def arguments_are_objects(body: Wire, terms: JudgeTerms) -> Refusals:
    """The arguments of a call are an object, not JSON in a string."""
    for place, call in _fields(body, "functionCall"):
        if not isinstance(call.get("args", {}), dict | None):
            yield _no_struct(f"{place}.function_call.args", call["args"])


@rule
def responses_are_objects(body: Wire, terms: JudgeTerms) -> Refusals:
    """The response of a function is an object, not a bare text."""
    for place, response in _fields(body, "functionResponse"):
        if not isinstance(response.get("response"), dict):
            yield _no_struct(f"{place}.function_response.response", response.get("response"))


@rule
def calls_have_names(body: Wire, terms: JudgeTerms) -> Refusals:
    """A call and a response name their function."""
    for name in ("functionCall", "functionResponse"):
        for place, value in _fields(body, name):
            if not NAME.fullmatch(str(value.get("name", ""))):
                yield Rejection(f"* GenerateContentRequest.{place}.{name}.name: {NAMES}\n")


@rule
def calls_and_responses_are_apart(body: Wire, terms: JudgeTerms) -> Refusals:
    """One content does not hold both calls and responses."""
    if any(_calls(content) and _responses(content) for content in body["contents"]):
        yield Rejection(
            "Please ensure that function call turn contains at least one function_call part which can not be "
            "mixed with function_response parts."
        )


@rule
def responses_are_alone(body: Wire, terms: JudgeTerms) -> Refusals:
    """One content does not hold responses and anything else."""
    if any(0 < len(_responses(content)) < len(content["parts"]) for content in body["contents"]):
        yield Rejection(_UNEQUAL)


@rule
def calls_come_from_models(body: Wire, terms: JudgeTerms) -> Refusals:
    """A turn with calls is the model's."""
    if any(_calls(content) and content.get("role") != "model" for content in body["contents"]):
        yield Rejection("Please ensure that function call turn comes with the model role.")


@rule
def calls_follow_users(body: Wire, terms: JudgeTerms) -> Refusals:
    """A turn with calls comes right after a user turn or a turn with responses."""
    for before, content in _pairs(body):
        if _calls(content) and (before is None or before.get("role") == "model"):
            yield Rejection(
                "Please ensure that function call turn comes immediately after a user turn or after a "
                "function response turn."
            )


@rule
def users_come_first(body: Wire, terms: JudgeTerms) -> Refusals:
    """The first content is the user's, as the SDK's chats demand."""
    if body["contents"][0].get("role") == "model":
        yield Rejection("Please ensure that multiturn requests start with a user role.")


@rule
def responses_follow_calls(body: Wire, terms: JudgeTerms) -> Refusals:
    """A turn with responses comes right after a turn with calls."""
    for before, content in _pairs(body):
        if _responses(content) and not _calls(before or {}):
            text = "Please ensure that function response turn comes immediately after a function call turn."
            yield Rejection(text)


@rule
def responses_are_complete(body: Wire, terms: JudgeTerms) -> Refusals:
    """A turn with calls is followed by as many responses in one turn."""
    contents = objects(body["contents"])
    for content, after in zip(contents, [*contents[1:], {}], strict=True):
        if len(_calls(content)) != len(_responses(after)):
            yield Rejection(_UNEQUAL)


@rule
def users_come_last(body: Wire, terms: JudgeTerms) -> Refusals:
    """The last content is the user's or a function's response."""
    if body["contents"][-1].get("role") == "model":
        yield Rejection("Please ensure that multiturn requests end with a user role or a function response.")


@rule
def steps_are_signed(body: Wire, terms: JudgeTerms) -> Refusals:
    """From Gemini 3 on, the first call of each step of the current turn carries its thought signature."""
    if not SIGNING.search(terms.model):
        return
    for at, content in _current(body):
        calls = _calls(content)
        if calls and not _signature(calls[0]):
            name = spelled(calls[0], "functionCall").get("name")
            yield Rejection(
                "Function call is missing a thought_signature in functionCall parts. This is required for "
                "tools to work correctly, and missing thought_signature may lead to degraded model "
                f"performance. Additional data, function call `default_api:{name}` , position {at + 1}. "
                "Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )


@rule
def signatures_verify(body: Wire, terms: JudgeTerms) -> Refusals:
    """A thought signature is one that this server gave."""
    for _place, part in _parts(body):
        sealed = _signature(part)
        excused = (
            sealed in UNCHECKED
            or _bytes_of_unchecked(sealed)
            or (terms.foreign and terms.seal.foreign(sealed))
        )
        if sealed and not excused and terms.seal.open(sealed) is None:
            yield Rejection("Corrupted thought signature.")


@rule
def tools_are_known(body: Wire, terms: JudgeTerms) -> Refusals:
    """A tool declares functions, or is one of Gemini's own."""
    for at, tool in with_places(body.get("tools")):
        extra = next((key for key in tool if camel(key) not in TOOLS), None)
        if extra is not None:
            yield _unknown(extra, f"tools[{at}]")


@rule
def declarations_have_names(body: Wire, terms: JudgeTerms) -> Refusals:
    """A declared function has a name."""
    for place, declared in _declarations(body):
        if not NAME.fullmatch(str(declared.get("name", ""))):
            yield Rejection(f"* GenerateContentRequest.{place}.name: {NAMES}\n")


@rule
def declarations_are_unique(body: Wire, terms: JudgeTerms) -> Refusals:
    """No function is declared twice."""
    names = [declared.get("name") for _place, declared in _declarations(body)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        yield Rejection(f"Duplicate function declaration found: {twice}")


@rule
def settings_are_objects(body: Wire, terms: JudgeTerms) -> Refusals:
    """The generation config and the thinking config in it are objects."""
    settings = spelled(body, "generationConfig")
    inner = spelled(settings, "thinkingConfig") if isinstance(settings, dict) else None
    for place, value in (("generation_config", settings), ("generation_config.thinking_config", inner)):
        if not isinstance(value, dict | None):
            yield Rejection(f"Invalid value at '{place}' (type.googleapis.com/google.ai), \"{value}\"")


@rule
def thinking_is_set_one_way(body: Wire, terms: JudgeTerms) -> Refusals:
    """A thinking budget and a thinking level are not given together."""
    settings = spelled(spelled(body, "generationConfig") or {}, "thinkingConfig") or {}
    if None not in (spelled(settings, "thinkingBudget"), spelled(settings, "thinkingLevel")):
        yield Rejection("You can only set only one of thinking budget and thinking level.")


def _unknown(name: str, place: str) -> Rejection:
    return Rejection(
        f"Invalid JSON payload received. Unknown name \"{name}\" at '{place}': Cannot find field."
    )


def _no_struct(place: str, value: Any) -> Rejection:
    return Rejection(f"Invalid value at '{place}' (type.googleapis.com/google.protobuf.Struct), \"{value}\"")


def _parts(body: Wire) -> Iterator[tuple[str, Wire]]:
    for at, content in with_places(body["contents"]):
        for nth, part in enumerate(content["parts"]):
            yield f"contents[{at}].parts[{nth}]", part


def _fields(body: Wire, name: str) -> Iterator[tuple[str, Wire]]:
    for place, part in _parts(body):
        if isinstance(spelled(part, name), dict):
            yield place, spelled(part, name)


def _calls(content: Wire) -> list[Wire]:
    return [part for part in objects(content.get("parts")) if isinstance(spelled(part, "functionCall"), dict)]


def _responses(content: Wire) -> list[Wire]:
    parts = objects(content.get("parts"))
    return [part for part in parts if isinstance(spelled(part, "functionResponse"), dict)]


def _signature(part: Wire) -> str:
    return str(spelled(part, "thoughtSignature") or "")


def _bytes_of_unchecked(sealed: str) -> bool:
    """Whether it is one of the documented words, which the SDK sends as bytes in base64."""
    words = {base64.b64encode(word.encode()).decode() for word in UNCHECKED}
    return sealed.replace("-", "+").replace("_", "/") in words


def _is_data(key: str, part: Wire) -> bool:
    if key == "text":
        return isinstance(part[key], str) and bool(part[key] or _signature(part))
    return isinstance(part[key], dict) and bool(part[key])


def _pairs(body: Wire) -> Iterator[tuple[Wire | None, Wire]]:
    contents = objects(body["contents"])
    yield from zip([None, *contents[:-1]], contents, strict=True)


def _current(body: Wire) -> Iterator[tuple[int, Wire]]:
    """The model's contents since the last user content that is more than responses."""
    contents = objects(body["contents"])
    asked = [at for at, content in enumerate(contents) if _is_asked(content)]
    start = asked[-1] if asked else 0
    return (
        (at, content) for at, content in enumerate(contents) if at >= start and content.get("role") == "model"
    )


def _is_asked(content: Wire) -> bool:
    return content.get("role") != "model" and not _responses(content)


def _declarations(body: Wire) -> Iterator[tuple[str, Wire]]:
    for at, tool in with_places(body.get("tools")):
        declared = spelled(tool, "functionDeclarations")
        for nth, function in with_places(declared):
            yield f"tools[{at}].function_declarations[{nth}]", function
