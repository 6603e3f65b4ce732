"""Contents of generateContent: builders, and hypothesis strategies for whole and broken ones."""

from hypothesis import strategies as st

from fanfold import models
from fanfold.dialects.dialect import bare_row
from fanfold.dialects.gemini.dialect import GeminiContents

DIALECT = GeminiContents()
THREE = "gemini-3-pro-preview"
NEWER = GeminiContents(models.find(THREE))
SIGNATURE = "c2lnbmF0dXJl"


def user(*parts):
    return {"role": "user", "parts": list(parts)}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def text(words="hi", **more):
    return {"text": words, **more}


def call(name="grep", **more):
    signed = {"thoughtSignature": more.pop("signed")} if "signed" in more else {}
    return {"functionCall": {"name": name, "args": {}, **more}, **signed}


def response(name="grep", output="ok", **more):
    return {"functionResponse": {"name": name, "response": {"output": output}, **more}}


HELLO = user(text("hello"))


def rows(*bodies, dialect=DIALECT):
    return [bare_row(dialect, dialect.message(body), i) for i, body in enumerate(bodies)]


def written(*messages, dialect=DIALECT):
    return [bare_row(dialect, message, i) for i, message in enumerate(messages)]


def applied(dialect, given, repairs):
    """The rows after the repairs."""
    shown = {row.id: row.messages for row in given}
    for covers, shows in repairs:
        shown.update(dict.fromkeys(covers, ()) | {covers[0]: shows})
    flat = [message for messages in shown.values() for message in messages]
    return [bare_row(dialect, message, i) for i, message in enumerate(flat)]


names = st.sampled_from(["grep", "read", "run"])
ids = st.sampled_from(["a", "b", "grep", "call-1"])
odd = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats()
    | st.text(max_size=6)
    | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(st.sampled_from(["path", "n", "output", "error"]), odd, max_size=2)
unknown = st.dictionaries(st.sampled_from(["x_new", "zeta", "videoMetadata"]), odd, max_size=1)


def _field(name, required, optional):
    inner = st.fixed_dictionaries(required, optional=optional)
    return st.builds(lambda value, more: {name: value, **more}, inner, unknown)


calls = st.one_of(
    _field("functionCall", {"name": names}, {"args": objects, "id": ids}),
    _field("function_call", {"name": names}, {"args": objects}),
    st.builds(lambda name: call(name, signed=SIGNATURE), names),
)
responses = st.one_of(
    _field("functionResponse", {"name": names, "response": objects}, {"id": ids}),
    _field("function_response", {"name": names}, {"response": objects | odd}),
)
words = st.builds(
    lambda words, more: {"text": words, **more}, st.text(max_size=8) | st.just("\udc00"), unknown
)
thoughts = st.builds(lambda words: {"text": words, "thought": True}, st.text(max_size=8))
blobs = st.sampled_from(
    [
        {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
        {"inline_data": {"mime_type": "application/pdf", "data": "AA=="}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://x/y.png"}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"text": "", "thoughtSignature": SIGNATURE},
    ]
)
strange = st.one_of(
    odd,
    st.just({}),
    st.just({"text": "a", "functionCall": {"name": "x"}}),
    st.just({"functionCall": {"args": {}}}),
)
parts = st.one_of(words, thoughts, calls, responses, blobs, strange)
contents = st.one_of(
    st.builds(
        lambda role, parts, more: {**role, "parts": parts, **more},
        st.sampled_from([{"role": "user"}, {"role": "model"}, {"role": "function"}, {}]),
        st.lists(parts, max_size=4),
        unknown,
    ),
    st.text(max_size=5),
    words,
    st.sampled_from(
        [{"role": "user", "parts": {"text": "one"}}, {"role": "model"}, {"role": "user", "parts": None}]
    ),
)
