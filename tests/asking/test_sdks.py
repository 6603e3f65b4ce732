"""Models behind the official SDKs, asked through sessions of every dialect, against the scripted provider."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import fanfold
from fanfold import BadSetting, Message, MissingExtra, Text, loop
from fanfold.asking import Anthropic, Careful, Gemini, OpenAI, Responses
from fanfold.asking.sdks import Sdk
from fanfold.core.message import user
from fanfold.core.plan import Answer, Ask
from fanfold.testing import called, replied, returned, said
from fanfold.testing.provider import Fail, Provider, Turn
from wire import sdks
from wire.loops import TASK, opening, output, provided, script

SUMMARY = Turn("<summary>They look for the bug in the parser; order 77ab10c4 is open.</summary>")
LONG = "value = token\n" * 40
EACH = {
    "openai": (OpenAI, sdks.Chat, "gpt-5-mini"),
    "responses": (Responses, sdks.Responses, "gpt-5-mini"),
    "anthropic": (Anthropic, sdks.Anthropic, "claude-haiku-4-5"),
    "gemini": (Gemini, sdks.Gemini, "gemini-2.5-flash"),
}
each = pytest.mark.parametrize("kind", EACH)
STEPS = [
    (replied("I look.", called(f"c{n}", "read", path=f"f{n}.py")), returned(f"c{n}", LONG)) for n in range(14)
]
BODIES = [said("Find the bug. Never push."), *(body for step in STEPS for body in step)]


def model(kind: str, provider: Provider) -> Sdk:
    make, sdk, name = EACH[kind]
    real: Any = sdk(provider)
    return make(name, client=real.client, later=real.later)


@each
def test_a_model_answers_with_text_usage_and_why_it_stopped(kind: str) -> None:
    with Provider([SUMMARY]) as provider:
        done = model(kind, provider).complete((user("Sum up: a, b."),), "Be brief.", 500)
        (request,) = provider.requests
    assert done.text == SUMMARY.text
    assert done.usage is not None
    assert done.usage.prompt == request.tokens
    assert done.fault is None
    assert "Be brief." in request.raw.decode()
    assert "tools" not in request.body


@each
@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])
def test_a_session_of_any_kind_is_summarised(kind: str, awaited: bool) -> None:
    with Provider([SUMMARY]) as provider:
        asked = model(kind, provider)
        if awaited:
            outcome, text = asyncio.run(_later(asked))
        else:
            with fanfold.open("run", window=4_000, summarizer=asked, filters=()) as chat:
                chat.merge(BODIES)
                outcome, text = chat.compact(force=True), "".join(m.text for m in chat.view().messages)
        assert provider.rejected == []
    assert (outcome.status, outcome.strategy, outcome.error) == ("reduced", "story", None)
    assert "order 77ab10c4 is open" in text
    assert "Never push." in text
    assert outcome.usage is not None
    assert outcome.cost > 0


async def _later(asked: Any) -> tuple[Any, str]:
    async with fanfold.aopen("run", window=4_000, summarizer=asked, filters=()) as chat:
        await chat.merge(BODIES)
        outcome = await chat.compact(force=True)
        return outcome, "".join(message.text for message in (await chat.view()).messages)


@each
@pytest.mark.parametrize("failure", [Fail.rate_limit(), Fail.server_error(), Fail.overloaded(), Fail.close()])
def test_what_may_be_over_soon_is_tried_again(kind: str, failure: Any) -> None:
    with Provider([failure, SUMMARY]) as provider:
        careful = Careful(model(kind, provider), pause=0.0)
        assert careful(fanfold.Ask((user("a"),), "Sum up.")).text == SUMMARY.text
        assert len(provider.requests) == 2


@each
def test_what_will_not_be_over_soon_is_not(kind: str) -> None:
    with Provider(key="another") as provider:
        careful = Careful(model(kind, provider), pause=0.0)
        answer = careful(fanfold.Ask((user("a"),), "Sum up."))
        assert answer.error is not None
        assert len(provider.requests) == 1


@each
@pytest.mark.parametrize(("stop", "says"), [("length", "cut off"), ("refusal", "refused")])
def test_an_answer_that_was_cut_or_refused_is_no_answer(kind: str, stop: Any, says: str) -> None:
    with Provider([Turn("Half of", stop=stop)]) as provider:
        answer = Careful(model(kind, provider))(fanfold.Ask((user("a"),), "Sum up."))
    assert says in str(answer.error)
    assert answer.usage is not None, "it was billed all the same"


@each
def test_a_slow_answer_is_not_waited_for(kind: str) -> None:
    with Provider([Fail.slow(SUMMARY, 0.5), SUMMARY]) as provider:
        careful = Careful(model(kind, provider), timeout=0.1, retries=0)
        assert "no answer within 0.1 s" in str(careful(fanfold.Ask((user("a"),), "Sum up.")).error)


def test_a_strategy_may_name_another_model_of_the_same_provider() -> None:
    with Provider([SUMMARY]) as provider:
        strategy = fanfold.strategies.summarize(model="gpt-4.1-nano")
        with fanfold.open(
            "run", window=4_000, strategy=strategy, summarizer=model("openai", provider), filters=()
        ) as chat:
            chat.merge(BODIES)
            assert chat.compact(force=True).status == "reduced"
        assert provider.requests[0].model == "gpt-4.1-nano"


@pytest.mark.parametrize("kind", [OpenAI, Responses, Anthropic, Gemini])
def test_models_of_other_names_share_the_clients(kind: type[Sdk]) -> None:
    asked = kind("a", api_key="any")
    assert asked.renamed("b").client is asked.renamed("c").client is asked.client
    assert asked.renamed("b").later is asked.renamed("c").later is asked.later


def test_a_server_of_ones_own_is_reached_by_its_address() -> None:
    with Provider([SUMMARY]) as provider:
        asked = OpenAI("local", base_url=provider.openai_base_url, api_key="none")
        assert asked.complete((user("a"),), "", None).text == SUMMARY.text


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gemini, "package", "no_such_package")
    with pytest.raises(fanfold.MissingExtra, match=r"pip install 'fanfold\[gemini\]'"):
        _ = Gemini("gemini-2.5-flash").client


@pytest.mark.parametrize(("kind", "main"), list(zip(EACH, reversed(sdks.QUICK), strict=True)))
def test_a_loop_in_any_dialect_is_summarised_by_a_model_of_any_provider(kind: str, main: Any) -> None:
    with Provider(SUMMARY) as light, provided(main, script(20)) as provider:
        with fanfold.open("run", summarizer=model(kind, light), **opening(main)) as chat:
            real = main(provider)
            chat.say(TASK)
            loop.run(
                chat,
                lambda request: real.call(real.client, request, False),
                {"read": lambda path: output(path, 7), "grep": lambda path: output(path, 5)},
                max_tokens=real.reply,
                **real.params,
            )
            folds = [row for row in chat.view().rows if row.kind == "fold"]
            assert {row.reason for row in folds} == {"story"}
            assert "order 77ab10c4 is open" in folds[0].messages[0].text
            assert chat.stats()["asked_tokens"] > 0
        assert provider.rejected == light.rejected == []


@each
def test_a_client_of_an_sdk_asks_the_sessions_own_model(kind: str) -> None:
    sdk, dialect, name = EACH[kind][1], EACH[kind][0].dialect, EACH[kind][2]
    with Provider([SUMMARY]) as provider:
        client: Any = sdk(provider).client
        options: Any = {"model": name, "dialect": dialect, "window": 4_000, "filters": ()}
        with fanfold.open("run", summarizer=client, **options) as chat:
            for number in range(14):
                chat.say(f"Question {number}.")
                chat.add(Message("assistant", (Text(LONG),)))
            assert chat.compact(force=True).strategy == "story"
        (request,) = provider.requests
    assert name in request.raw.decode() + request.path


def test_a_client_of_an_sdk_serves_an_asynchronous_session_too() -> None:
    with Provider([SUMMARY]) as provider:
        client: Any = sdks.Chat(provider).client

        async def compacted() -> Any:
            async with fanfold.aopen(
                "run", model="gpt-5-mini", window=4_000, summarizer=client, filters=()
            ) as chat:
                await chat.merge(BODIES)
                return await chat.compact(force=True)

        assert asyncio.run(compacted()).strategy == "story"


def test_a_client_of_an_sdk_that_cannot_ask_the_sessions_model_is_refused() -> None:
    with Provider([SUMMARY]) as provider:
        real: Any = sdks.Chat(provider)
        with pytest.raises(BadSetting, match=r'that is not known.*fanfold.asking.OpenAI\("…", client=client'):
            fanfold.open("run", window=4_000, summarizer=real.client)
        with pytest.raises(BadSetting, match=r"that is claude-haiku-4-5\. Say which model to ask"):
            fanfold.open("run", model="claude-haiku-4-5", summarizer=real.client)
        with pytest.raises(BadSetting, match=r"AsyncOpenAI is awaited, .* open it with `fanfold.aopen`"):
            fanfold.open("run", model="gpt-5-mini", summarizer=real.later)


def test_a_model_is_asked_by_its_name_through_the_sdk_of_its_provider() -> None:
    found = {"gpt-5-mini": OpenAI, "claude-haiku-4-5": Anthropic, "gemini-2.5-flash": Gemini}
    for name, kind in found.items():
        with fanfold.open("run", window=4_000, summarizer=name) as chat:
            asked: Any = chat._ask
            assert (type(asked.model), asked.model.name) == (kind, name)
            assert chat._state.terms.summarizer_window > 4_000


def test_a_model_whose_sdk_is_not_installed_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanfold.asking.sdks.find_spec", lambda package: None)
    with pytest.raises(
        MissingExtra, match=r"needs the package anthropic: pip install 'fanfold\[anthropic\]'"
    ):
        fanfold.open("run", window=4_000, summarizer="claude-haiku-4-5")


def test_a_called_client_that_hangs_holds_up_no_shutdown() -> None:
    """(19.18, 19.19) It took a thread of the caller's default executor, for which `asyncio.run` waits at its end."""
    asked, over = threading.Event(), threading.Event()
    seen = list[str]()

    def create(**request: Any) -> Any:
        seen.append(threading.current_thread().name)
        asked.set()
        over.wait()

    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    model = Careful(OpenAI("gpt-5.2", client=client), timeout=0.05, retries=0)

    async def ask() -> Answer:
        return await model.later(Ask((user("What was said?"),), "Sum it up."))

    loop = asyncio.new_event_loop()
    try:
        answer = loop.run_until_complete(ask())
        assert "no answer within" in str(answer.error)
        assert asked.wait(10)
        held = getattr(loop, "_default_executor", None)
        assert held is None, f"{seen} is a thread for which the loop waits"
    finally:
        over.set()
        loop.close()
