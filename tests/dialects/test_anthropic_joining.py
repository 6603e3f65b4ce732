"""Messages recorded one by one become the messages Anthropic wants, always the same way."""

from anthropic_wire import (
    DIALECT,
    HELLO,
    PARAMS,
    PNG,
    answer,
    assistant,
    broken_rules,
    calling,
    result,
    rows,
    sent,
    text,
    use,
    user,
    verdict,
)
from msgspec.structs import replace

from fanfold.core.message import Call, Document, Image, Message, Opaque, Result, Text, Thinking

NOTE = ("note", Message("user", (Text("[note]"),)))


def test_results_of_parallel_calls_are_one_message():
    some = rows(HELLO, assistant(use(), use("t2")), answer("t1"), answer("t2"))
    assert sent(some)[2:] == [user(result(), result("t2"))]
    assert broken_rules(some) == set()


def test_words_behind_results_join_them_and_results_go_first():
    said = Message("user", (Text("stop"),))
    some = rows(HELLO, assistant(use(), use("t2")), answer("t1"), said, answer("t2"))
    assert sent(some)[2:] == [user(result(), result("t2"), text("stop"))]
    assert verdict(some) == ""


def test_what_came_as_separate_messages_stays_so():
    bodies = [HELLO, HELLO, assistant(text()), assistant(use()), user(result()), HELLO]
    assert sent(rows(*bodies)) == bodies


def test_what_fanfold_says_behind_results_goes_into_the_last_of_them():
    for kind in ("note", "fold", "drop"):
        some = rows(HELLO, assistant(use()), user(result()), (kind, NOTE[1]), assistant(text()), HELLO)
        assert sent(some)[2] == user(result(content="ok\n\n[note]"))
    listed = rows(HELLO, assistant(use()), user(result(content=[PNG])), NOTE)
    assert sent(listed)[2] == user(result(content=[PNG, text("[note]")]))
    assert sent(rows(HELLO, NOTE))[1] == user(text("[note]"))


def test_what_was_encoded_before_is_not_changed():
    some = rows(HELLO, assistant(use()), user(result()), NOTE)
    sent(some, context="now")
    assert some[2].weight.wire == (user(result()),)


def test_the_context_goes_into_the_last_result_inside_a_loop_and_is_the_users_words_outside():
    loop = rows(HELLO, assistant(use()), user(result()))
    assert sent(loop, context="now")[2] == user(result(content="ok\n\nnow"))
    assert sent(rows(HELLO), context="now") == [HELLO, user(text("now"))]
    prefilled = rows(HELLO, assistant(text("So")))
    assert sent(prefilled, context="now") == [HELLO, user(text("now")), assistant(text("So"))]
    told = {"role": "system", "content": "Be brief."}
    assert sent(rows(HELLO, told), context="now") == [HELLO, user(text("now")), told]


def test_the_same_rows_give_the_same_bytes_and_more_rows_only_more():
    some = rows(HELLO, assistant(use(), use("t2")), answer("t1"), answer("t2"), assistant(text()), HELLO)
    assert sent(some) == sent(some)
    for size in range(1, len(some)):
        shorter, longer = blocks_of(sent(some[:size])), blocks_of(sent(some))
        assert longer[: len(shorter)] == shorter


def blocks_of(messages):
    found = []
    for message in messages:
        content = message["content"]
        found += [(message["role"], b) for b in ([text(content)] if isinstance(content, str) else content)]
    return found


def test_ids_that_anthropic_refuses_are_the_same_others_for_call_and_result():
    some = rows(HELLO, calling(["a|b", ""]), answer("a|b"), answer(""))
    (_, asked, told) = sent(some)
    ids = [block["id"] for block in asked["content"] if block["type"] == "tool_use"]
    assert ids == [block["tool_use_id"] for block in told["content"]]
    assert len(set(ids)) == 2
    assert verdict(some) == ""
    assert broken_rules(some) == set()


def test_what_another_provider_signed_is_left_out_and_named():
    message = Message("assistant", (Thinking("hm", "theirs"), Text("so"), Opaque("gemini", {"x": 1})))
    assert DIALECT.wire(message) == (
        assistant(text("so"), text("[a block of gemini that cannot be shown here]")),
    )
    assert DIALECT.lost(message) == ("0",)
    assert DIALECT.wire(Message("assistant", (Thinking("hm"), Opaque("cut", {})))) == ()


def test_pictures_and_documents_carry_over_where_they_can():
    data = "data:application/pdf;base64,JVBERg=="
    parts = (
        Image("image/png", "AA"),
        Image(url="https://x.test/a.png"),
        Image(url="data:image/gif;base64,AA"),
        Image("image/tiff", "AA"),
        Document(data=data, name="a.pdf"),
        Document(text="words"),
        Document("text/plain", "d29yZHM="),
        Document("application/zip", "AA", name="a.zip"),
    )
    (body,) = DIALECT.wire(Message("user", parts))
    kinds = [
        (block["type"], block.get("source", {}).get("type"), block.get("text")) for block in body["content"]
    ]
    assert kinds == [
        ("image", "base64", None),
        ("image", "url", None),
        ("image", "base64", None),
        ("text", None, "[an image that cannot be shown here: image/tiff]"),
        ("document", "base64", None),
        ("document", "text", None),
        ("document", "text", None),
        ("text", None, "[a document that cannot be shown here: a.zip]"),
    ]
    assert DIALECT.wire(Message("assistant", parts[:1])) == (
        assistant(text("[an image that cannot be shown here: image/png]")),
    )


def test_arguments_that_are_no_object_are_wrapped():
    raws = {
        "{": {"_raw": "{"},
        "[1]": {"_raw": "[1]"},
        "": {},
        '{"a":NaN}': {"a": "NaN"},
        '{"a":1}': {"a": 1},
    }
    for raw, wanted in raws.items():
        (body,) = DIALECT.wire(Message("assistant", (Call("t1", "grep", raw),)))
        assert body["content"][0]["input"] == wanted


def test_a_result_is_text_where_it_can_be():
    told = Message("tool", (Result("t1", (Text("a"), Text("b")), True, "grep"),))
    assert DIALECT.wire(told) == (user(result(content="a\nb", is_error=True)),)
    assert DIALECT.wire(answer("t1", Text("a"), Image("image/png", "AAAA"))) == (
        user(result(content=[text("a"), PNG])),
    )


def test_a_system_message_of_another_provider_is_told_by_the_user():
    some = rows(HELLO, Message("system", (Text("Be brief."),)))
    assert sent(some)[1] == user(text("[system]\nBe brief."))
    assert broken_rules(some) == set()


def test_the_limit_of_the_reply_is_always_there():
    assert DIALECT.limit(None, 800) == {"max_tokens": 800}
    assert DIALECT.limit(5, 800) == {"max_tokens": 5}


def test_context_management_passes_through():
    params = {**PARAMS, "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}
    assert (
        DIALECT.encode(DIALECT.frame((), ()), rows(HELLO), params)["context_management"]
        == params["context_management"]
    )


def test_an_elided_row_is_sent_as_received_but_for_the_part():
    (row,) = rows(user(result(content="long " * 50), text("and now?", citations=None)))
    short = Message("user", (Result("t1", (Text("short"),)), row.messages[0].parts[1]))
    wire = DIALECT.wire(short, row.messages[0])
    assert wire == (user(result(content="short"), text("and now?", citations=None)),)
    elided = replace(row, messages=(short,), was=row.messages[0], weight=replace(row.weight, wire=wire))
    assert sent([*rows(HELLO, assistant(use())), elided])[2:] == list(wire)
