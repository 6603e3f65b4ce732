"""Every rule of Messages refuses something and lets something much like it pass."""

import pytest

from fanfold.testing.provider import RULES
from fanfold.testing.provider.rejection import JudgeTerms
from fanfold.testing.provider.rules import check
from fanfold.testing.provider.seal import Seal, fingerprint

from .cases import SMALL, Case, case, name

OLD, NEW = "claude-sonnet-4-5", "claude-opus-4-8"
ON = {"type": "enabled", "budget_tokens": 1024}
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
LARGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 12}}
TOOL = {"name": "grep", "input_schema": {"type": "object"}}

LATER = {"name": "sed", "input_schema": {"type": "object"}, "defer_loading": True}
REFERENCE = {"type": "tool_reference", "tool_name": "sed"}


def ask(*messages, model=OLD, **more):
    return {"model": model, "max_tokens": 2000, "messages": list(messages), **more}


def user(*content):
    return {"role": "user", "content": list(content)}


def assistant(*content):
    return {"role": "assistant", "content": list(content)}


def system(text="Be brief."):
    return {"role": "system", "content": text}


def text(words="hi", **more):
    return {"type": "text", "text": words, **more}


def use(id="t1", **more):
    return {"type": "tool_use", "id": id, "name": "grep", "input": {}, **more}


def result(id="t1", **more):
    return {"type": "tool_result", "tool_use_id": id, "content": "ok", **more}


def served(id="s1"):
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}


def found(id="s1"):
    return {"type": "web_search_tool_result", "tool_use_id": id, "content": []}


def thought(words="hm", place=0, of=1, key=b"scripted provider", **more):
    sealed = Seal(key).close(reply="r1", place=place, of=of, text=fingerprint("hm"))
    return {"type": "thinking", "thinking": words, "signature": sealed, **more}


HELLO = {"role": "user", "content": "hello"}
LOOP = ask(HELLO, assistant(use()), user(result()))
THINKING = ask(HELLO, assistant(thought(), use()), user(result()), thinking=ON)

CASES = [
    case("model_is_given", ask(HELLO, model=""), ask(HELLO), "model: Field required"),
    case("ceiling_is_given", {"model": OLD, "messages": [HELLO]}, ask(HELLO), "max_tokens: Field required"),
    case("messages_are_given", ask(), ask(HELLO), "at least one message is required"),
    case("messages_are_given", {"model": OLD, "max_tokens": 9}, ask(HELLO), "messages: Field required"),
    case("messages_are_objects", ask("hello"), ask(HELLO), "messages.0"),
    case("messages_are_objects", ask({**HELLO, "name": "x"}), ask(HELLO), "messages.0.name: Extra inputs"),
    case(
        "roles_are_known",
        ask({"role": "tool", "content": "x"}),
        ask(HELLO),
        "should be 'user' or 'assistant'",
    ),
    case(
        "content_is_text_or_blocks", ask({"role": "user", "content": None}), ask(HELLO), "messages.0.content"
    ),
    case("content_is_text_or_blocks", ask(user("x")), ask(user(text())), "messages.0.content.0"),
    case(
        "block_types_are_known",
        ask(user({"type": "image_url", "image_url": {"url": "x"}})),
        ask(user(IMAGE)),
        "Input tag 'image_url' found using 'type'",
    ),
    case("blocks_are_complete", ask(user({"type": "text"})), ask(user(text())), "text.text: Field required"),
    case(
        "blocks_are_complete",
        ask(HELLO, assistant(use(id=5))),
        LOOP,
        "tool_use.id: Input should be a valid string",
    ),
    case("blocks_are_complete", ask(user({"type": "document"})), ask(user(text())), "document.source"),
    case(
        "inputs_are_objects", ask(HELLO, assistant(use(input="{}")), user(result())), LOOP, "valid dictionary"
    ),
    case(
        "users_come_first",
        ask(assistant(text()), HELLO),
        ask(HELLO, assistant(text())),
        'must use the "user" role',
    ),
    case(
        "users_come_first",
        ask(assistant(text()), HELLO),
        ask(assistant({"type": "compaction", "content": "So far."}), HELLO),
        'must use the "user" role',
    ),
    case(
        "system_role_is_supported",
        ask(HELLO, system()),
        ask(HELLO, system(), model=NEW),
        'Unexpected role "system"',
    ),
    case(
        "system_messages_are_in_place",
        ask(system(), HELLO, model=NEW),
        ask(HELLO, system(), model=NEW),
        "must immediately follow a `user` message",
    ),
    case(
        "system_messages_are_in_place",
        ask(HELLO, system(), HELLO, model=NEW),
        ask(HELLO, system(), assistant(text()), HELLO, model=NEW),
        "be followed by an `assistant`",
    ),
    case(
        "content_is_not_empty",
        ask(user()),
        ask(HELLO, assistant()),
        "messages.0: all messages must have non-empty",
    ),
    case(
        "marked_texts_are_not_empty",
        ask(HELLO, system=[text("", cache_control=MARK)]),
        ask(HELLO, system=[text("x", cache_control=MARK)]),
        "system.0.text: cache_control cannot be set for empty text blocks",
    ),
    case(
        "texts_are_not_empty",
        ask(user(text(""))),
        ask(user(text("x"))),
        "messages: text content blocks must be non",
    ),
    case(
        "texts_are_not_empty",
        ask(HELLO, system=[text("")]),
        ask(HELLO, system=[text()]),
        "system: text content",
    ),
    case(
        "texts_are_not_blank", ask(user(text(" \n"))), ask(user(text(" \n"), text())), "non-whitespace text"
    ),
    case(
        "prefill_ends_in_ink",
        ask(HELLO, assistant(text("So "))),
        ask(HELLO, assistant(text("So"))),
        "cannot end with trailing whitespace",
    ),
    case(
        "prefill_is_supported",
        ask(HELLO, assistant(text("So")), model="claude-sonnet-4-6"),
        ask(HELLO, assistant(text("So"))),
        "does not support assistant message prefill",
    ),
    case(
        "prefill_is_supported",
        ask(HELLO, assistant(served(), found(), text("So")), model="claude-sonnet-4-6"),
        ask(HELLO, assistant(text("So"), served()), model="claude-sonnet-4-6"),
        "does not support assistant message prefill",
    ),
    case(
        "calls_come_from_assistants",
        ask(user(use()), user(result())),
        LOOP,
        "only be in `assistant` messages",
    ),
    case(
        "calls_come_from_assistants",
        ask(user({"type": "mcp_tool_use", "id": "m1", "name": "x", "server_name": "s", "input": {}})),
        LOOP,
        "only be in `assistant` messages",
    ),
    case(
        "results_come_from_users", ask(HELLO, assistant(use(), result())), LOOP, "only be in `user` messages"
    ),
    case(
        "call_ids_are_plain",
        ask(HELLO, assistant(use("a|b")), user(result("a|b"))),
        LOOP,
        "should match pattern",
    ),
    case(
        "call_names_are_short",
        ask(HELLO, assistant(use(name="x" * 201)), user(result())),
        ask(HELLO, assistant(use(name="x" * 200)), user(result())),
        "tool_use.name: String should have at most 200 characters",
    ),
    case(
        "call_names_are_short",
        ask(HELLO, assistant(use(name="")), user(result())),
        ask(HELLO, assistant(use(name="x")), user(result())),
        "tool_use.name: String should have at least 1 character",
    ),
    case(
        "call_ids_are_unique",
        ask(HELLO, assistant(use()), user(result()), assistant(use()), user(result())),
        ask(HELLO, assistant(use()), user(result()), assistant(use("t2")), user(result("t2"))),
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    case(
        "results_have_calls",
        ask(user(result())),
        LOOP,
        "unexpected `tool_use_id` found in `tool_result` blocks: t1",
    ),
    case(
        "results_have_calls",
        ask(HELLO, assistant(use()), user(result()), assistant(text()), user(result())),
        ask(HELLO, assistant(use()), user(result()), assistant(text()), user(text())),
        "messages.4.content.0: unexpected",
    ),
    case(
        "calls_have_one_result",
        ask(HELLO, assistant(use()), user(result(), result())),
        LOOP,
        "a single result",
    ),
    case(
        "calls_have_results",
        ask(HELLO, assistant(use())),
        LOOP,
        "without `tool_result` blocks immediately after: t1",
    ),
    case(
        "calls_have_results",
        ask(HELLO, assistant(use()), HELLO),
        LOOP,
        "messages.1: `tool_use` ids were found",
    ),
    case(
        "calls_have_results",
        ask(HELLO, assistant(use()), user(text(), result())),
        ask(HELLO, assistant(use()), user(result(), text())),
        "immediately after: t1",
    ),
    case(
        "calls_have_results",
        ask(HELLO, assistant(use(), use("t2")), user(result())),
        ask(HELLO, assistant(use(), use("t2")), user(result("t2"), result())),
        "immediately after: t2",
    ),
    case(
        "server_results_have_uses",
        ask(HELLO, assistant(found(), text()), HELLO),
        ask(HELLO, assistant(served(), found(), text()), HELLO),
        "must have a corresponding `server_tool_use` block before it",
    ),
    case(
        "server_uses_have_results",
        ask(HELLO, assistant(served(), text()), HELLO),
        ask(HELLO, assistant(served())),
        "without a corresponding",
    ),
    case(
        "server_uses_have_results",
        ask(HELLO, assistant(served(), use()), user(result(), text())),
        ask(HELLO, assistant(served(), use()), user(result()), assistant(found(), text()), HELLO),
        "without a corresponding",
    ),
    case(
        "budget_is_large_enough",
        ask(HELLO, thinking={"type": "enabled", "budget_tokens": 1023}),
        ask(HELLO, thinking=ON),
        "greater than or equal to 1024",
    ),
    case(
        "budget_is_below_ceiling",
        ask(HELLO, thinking={"type": "enabled", "budget_tokens": 2000}),
        ask(HELLO, thinking={"type": "enabled", "budget_tokens": 1999}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    case(
        "temperature_is_one",
        ask(HELLO, thinking=ON, temperature=0.5),
        ask(HELLO, thinking=ON, temperature=1),
        "may only be set to 1",
    ),
    case(
        "choice_is_free",
        ask(HELLO, thinking=ON, tools=[TOOL], tool_choice={"type": "any"}),
        ask(HELLO, thinking=ON, tools=[TOOL], tool_choice={"type": "auto"}),
        "forces tool use",
    ),
    case(
        "thinkers_are_not_prefilled",
        ask(HELLO, assistant(thought(), text()), thinking=ON),
        ask(HELLO, assistant(thought(), text()), HELLO, thinking=ON),
        "not supported when `thinking` is enabled",
    ),
    case(
        "thinkers_are_not_prefilled",
        ask(HELLO, assistant(thought(), text()), thinking=ON),
        ask(HELLO, assistant(thought(), served()), thinking=ON),
        "not supported when `thinking` is enabled",
    ),
    case("loop_begins_with_thinking", {**LOOP, "thinking": ON}, THINKING, "but found `tool_use`"),
    case(
        "loop_begins_with_thinking",
        {**LOOP, "thinking": ON},
        {**LOOP, "thinking": {"type": "adaptive"}},
        "Expected",
    ),
    case(
        "loop_begins_with_thinking",
        ask(
            HELLO,
            assistant(use()),
            user(result()),
            assistant(thought(), use("t2")),
            user(result("t2")),
            thinking=ON,
        ),
        ask(HELLO, assistant(use()), user(result()), assistant(text()), HELLO, thinking=ON),
        "messages.1.content.0.type",
    ),
    case(
        "loop_without_thinking_has_none",
        {**THINKING, "thinking": {"type": "disabled"}},
        ask(HELLO, assistant(thought(), use()), user(result()), assistant(text()), HELLO),
        "When thinking is disabled",
    ),
    case(
        "signatures_verify",
        ask(HELLO, assistant(thought("hm!"), text()), HELLO),
        ask(HELLO, assistant(thought("hm"), text()), HELLO),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    case(
        "signatures_verify",
        ask(HELLO, assistant(thought(key=b"another key"), text()), HELLO),
        ask(HELLO, assistant(thought(), text()), HELLO),
        "Invalid `signature`",
    ),
    case(
        "latest_thinking_is_whole",
        ask(HELLO, assistant(thought(of=2), text()), HELLO),
        ask(HELLO, assistant(thought(of=2), thought(place=1, of=2), text()), HELLO),
        "in the latest assistant message cannot be modified",
    ),
    case(
        "latest_thinking_is_whole",
        ask(HELLO, assistant(thought(place=1, of=2), thought(of=2), text()), HELLO),
        ask(HELLO, assistant(thought(of=2), text()), HELLO, assistant(text()), HELLO),
        "must remain as they were in the original response",
    ),
    case(
        "thinking_is_not_last",
        ask(HELLO, assistant(thought()), HELLO),
        ask(HELLO, assistant(thought()), assistant(text()), HELLO),
        "The final block in an assistant message cannot be `thinking`",
    ),
    case(
        "thinking_is_not_marked",
        ask(HELLO, assistant(thought(cache_control=MARK), text()), HELLO),
        ask(HELLO, assistant(thought(), text(cache_control=MARK)), HELLO),
        "cache_control: Extra inputs are not permitted",
    ),
    case(
        "images_are_few",
        ask(user(IMAGE, IMAGE)),
        ask(user(IMAGE)),
        "0 document pages + 2 images > 1",
        limits=SMALL,
    ),
    case(
        "images_are_few",
        ask(HELLO, assistant(use()), user(result(content=[IMAGE, IMAGE]))),
        ask(HELLO, assistant(use()), user(result(content=[IMAGE]))),
        "2 images > 1",
        limits=SMALL,
    ),
    case("images_are_small", ask(user(LARGE)), ask(user(IMAGE)), "12 bytes > 8 bytes", limits=SMALL),
    case(
        "marks_are_few",
        ask(user(*[text(cache_control=MARK)] * 5)),
        ask(user(*[text(cache_control=MARK)] * 4)),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    case(
        "long_marks_come_first",
        ask(user(text(cache_control=HOUR)), system=[text(cache_control=MARK)]),
        ask(user(text(cache_control=MARK)), system=[text(cache_control=HOUR)]),
        "a ttl='1h' cache_control block must not come after a ttl='5m'",
    ),
    case(
        "long_marks_come_first",
        ask(HELLO, assistant(use()), user(result(content=[text(cache_control=MARK)], cache_control=HOUR))),
        ask(HELLO, assistant(use()), user(result(content=[text(cache_control=HOUR)], cache_control=MARK))),
        "must not come after a ttl='5m'",
    ),
    case(
        "tools_have_names",
        ask(HELLO, tools=[{**TOOL, "name": "a b"}]),
        ask(HELLO, tools=[TOOL]),
        "tools.0.custom.name: String should match pattern",
    ),
    case(
        "tools_are_known",
        ask(HELLO, tools=[{"type": "function", **TOOL}]),
        ask(HELLO, tools=[{"type": "custom", **TOOL}, {"type": "bash_20250124", "name": "bash"}]),
        "Input tag 'function' found using 'type'",
    ),
    case(
        "tools_have_schemas",
        ask(HELLO, tools=[{"name": "grep"}]),
        ask(HELLO, tools=[TOOL]),
        "tools.0.custom.input_schema: Field required",
    ),
    case(
        "tools_have_schemas",
        ask(HELLO, tools=[{"name": "grep", "input_schema": {}}]),
        ask(HELLO, tools=[TOOL]),
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    case("tool_names_are_unique", ask(HELLO, tools=[TOOL, TOOL]), ask(HELLO, tools=[TOOL]), "must be unique"),
    case(
        "waiting_tools_are_known",
        ask(HELLO, model="claude-haiku-4-5", tools=[TOOL, LATER]),
        ask(HELLO, tools=[TOOL, LATER]),
        "does not support deferred tools",
    ),
    case(
        "waiting_tools_carry_no_mark",
        ask(HELLO, tools=[TOOL, {**LATER, "cache_control": MARK}]),
        ask(HELLO, tools=[{**TOOL, "cache_control": MARK}, LATER]),
        "cannot have both defer_loading=true and cache_control set",
    ),
    case(
        "some_tool_is_there",
        ask(HELLO, tools=[LATER]),
        ask(HELLO, tools=[TOOL, LATER]),
        "At least one tool",
    ),
    case(
        "references_have_tools",
        ask(HELLO, assistant(use()), user(result(content=[REFERENCE])), tools=[TOOL]),
        ask(HELLO, assistant(use()), user(result(content=[REFERENCE])), tools=[TOOL, LATER]),
        "Tool reference 'sed' has no corresponding tool definition",
    ),
    case(
        "choice_is_there",
        ask(HELLO, tools=[TOOL, LATER], tool_choice={"type": "tool", "name": "sed"}),
        ask(HELLO, tools=[TOOL, LATER], tool_choice={"type": "tool", "name": "grep"}),
        "Tool 'sed' not found",
    ),
    case(
        "choice_needs_tools",
        ask(HELLO, tool_choice={"type": "auto"}),
        ask(HELLO, tool_choice={"type": "auto"}, tools=[TOOL]),
        "while providing tools",
    ),
]


@pytest.mark.parametrize("of", CASES, ids=name)
def test_refuses(of: Case):
    refused = of.refusal("anthropic", of.refused)
    assert refused is not None
    assert (refused.rule, refused.status) == (of.rule, 400)
    assert of.words in refused.message


@pytest.mark.parametrize("of", CASES, ids=name)
def test_lets_the_near_twin_pass(of: Case):
    assert of.judge("anthropic", of.passed) == ""


def test_every_rule_has_a_case():
    assert {rule.__name__ for rule in RULES["anthropic"]} == {of.rule for of in CASES}


def test_a_forged_signature_is_refused_even_where_foreign_ones_pass():
    foreign = {"type": "thinking", "thinking": "hm", "signature": "EqQBCgIYAhIM"}
    body = ask(HELLO, assistant(foreign, text()), HELLO)
    assert check("anthropic", body, JudgeTerms(OLD)) is not None
    assert check("anthropic", body, JudgeTerms(OLD, foreign=True)) is None
    forged = ask(HELLO, assistant(thought("other"), text()), HELLO)
    assert check("anthropic", forged, JudgeTerms(OLD, foreign=True)) is not None
