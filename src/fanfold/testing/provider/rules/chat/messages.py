"""The rules of Chat Completions on messages and their content."""

from fanfold.testing.provider.rejection import JudgeTerms, Rejection, Rule, collector
from fanfold.testing.provider.rules import openai
from fanfold.testing.provider.wire import Wire, enumerated, objects, section

RULES: list[Rule] = []
rule = collector(RULES)

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
PARTS = {"user": ("text", "image_url", "input_audio", "file"), "assistant": ("text", "refusal")}


@rule
def model_is_given(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A request names its model."""
    return None if terms.model else Rejection("you must provide a model parameter")


@rule
def messages_are_given(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A request has an array of at least one message."""
    messages = body.get("messages")
    if messages is None:
        return openai.missing("messages")
    if not isinstance(messages, list):
        return openai.mistyped("messages", "an array of objects", messages)
    return None if messages else openai.empty("messages")


@rule
def messages_are_objects(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """Every message is an object."""
    for at, message in enumerate(body["messages"]):
        if not isinstance(message, dict):
            return openai.mistyped(f"messages[{at}]", "an object", message)
    return None


@rule
def roles_are_known(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A message's role is one of six."""
    for at, message in enumerated(body["messages"]):
        if message.get("role") not in ROLES:
            return openai.unsupported(f"messages[{at}].role", message.get("role"), *ROLES)
    return None


@rule
def content_is_given(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """Only an assistant message with calls or a refusal goes without content."""
    for at, message in enumerated(body["messages"]):
        excused = message["role"] == "assistant" and _speaks_otherwise(message)
        if message.get("content") is None and not excused:
            text = "Invalid value for 'content': expected a string, got null."
            return Rejection(text, param=f"messages.[{at}].content")
    return None


@rule
def content_is_text_or_parts(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """Content is a string or an array of objects."""
    for at, message in enumerated(body["messages"]):
        content = message.get("content")
        parts = isinstance(content, list) and all(isinstance(part, dict) for part in content)
        if not (content is None or isinstance(content, str) or parts):
            return openai.mistyped(f"messages[{at}].content", "one of a string or array of objects", content)
    return None


@rule
def part_arrays_have_parts(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """An array of content parts is not empty."""
    for at, message in enumerated(body["messages"]):
        if message.get("content") == []:
            return openai.empty(f"messages[{at}].content")
    return None


@rule
def images_come_from_users(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """Image parts stand in user messages only."""
    for at, message in enumerated(body["messages"]):
        if message["role"] != "user" and any(part.get("type") == "image_url" for part in _parts(message)):
            text = (
                f"Invalid 'messages[{at}]'. Image URLs are only allowed for messages with role 'user', "
                f"but this message with role '{message['role']}' contains an image URL."
            )
            return Rejection(text, param=f"messages[{at}]", code="invalid_value")
    return None


@rule
def parts_are_known(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A content part is of a type its role may use."""
    for at, message in enumerated(body["messages"]):
        known = PARTS.get(message["role"], ("text",))
        for nth, part in enumerate(_parts(message)):
            if part.get("type") not in known:
                place = f"messages[{at}].content[{nth}].type"
                return openai.unsupported(place, part.get("type"), *known, *known[:1])
    return None


@rule
def text_parts_have_text(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A text part carries a string."""
    for at, message in enumerated(body["messages"]):
        for nth, part in enumerate(_parts(message)):
            if part["type"] == "text" and not isinstance(part.get("text"), str):
                return openai.missing(f"messages[{at}].content[{nth}].text")
    return None


@rule
def parts_carry_something(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """A part of any other kind carries its content under the name of its type."""
    for at, message in enumerated(body["messages"]):
        for nth, part in enumerate(_parts(message)):
            if part.get(part["type"]) is None:
                return openai.missing(f"messages[{at}].content[{nth}].{part['type']}")
    return None


@rule
def strings_are_short_enough(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """No content string is longer than ten mebibytes of characters."""
    for at, message in enumerated(body["messages"]):
        texts = [message.get("content"), *(part.get("text") for part in _parts(message))]
        longest = max((len(text) for text in texts if isinstance(text, str)), default=0)
        if longest > terms.limits.text:
            return openai.too_long(f"messages[{at}].content", terms.limits.text, longest)
    return None


@rule
def files_are_addresses(body: Wire, terms: JudgeTerms) -> Rejection | None:
    """The bytes of a file come as a `data:` address, not as bare base64."""
    for at, message in enumerated(body["messages"]):
        for nth, part in enumerate(_parts(message)):
            data = section(part, "file").get("file_data")
            if data is not None and not str(data).startswith("data:"):
                place = f"messages[{at}].content[{nth}].file.file_data"
                text = (
                    f"Invalid '{place}'. Expected a base64-encoded data URL, "
                    "but got a value without the 'data:' prefix."
                )
                return Rejection(text, param=place, code="invalid_value")
    return None


def _parts(message: Wire) -> list[Wire]:
    return objects(message.get("content"))


def _speaks_otherwise(message: Wire) -> bool:
    return any(message.get(key) for key in ("tool_calls", "function_call", "refusal", "audio"))
