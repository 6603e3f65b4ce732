"""Window, thrift and strategy may be others for some models, and for some keys."""

import json

import pytest
from msgspec import convert

from fanfold.core.errors import BadSetting
from fanfold.gateway.app import Gateway
from fanfold.gateway.keys import Keys
from fanfold.gateway.server import reload
from fanfold.gateway.settings import ServeSettings, read_settings
from tests.gateway.gate import Gate, Upstream
from tests.gateway.test_erased import REPLY, TOOL

KEY = {"key": "a-key-of-sixteen-characters", "tenant": "alice", "openai": "sk-real"}
BEARER = [(b"authorization", b"Bearer a-key-of-sixteen-characters")]
CHEAP = {"name": "auto", "thrift": 0.9}


def found(settings, model, headers=()):
    holder = Keys(convert(settings, ServeSettings)).find(list(headers), "").for_model(model)
    return holder.window, holder.strategy, holder.defer


def test_the_first_pattern_that_fits_holds_and_says_only_what_it_says():
    settings = {
        "window": 64_000,
        "thrift": 0.1,
        "per_model": {"gpt-5*-mini": {"window": 16_000, "defer": True}, "gpt-*": {"thrift": 0.9}},
    }
    usual = {"name": "auto", "thrift": 0.1}
    assert found(settings, "gpt-5.2-mini") == (16_000, usual, True)
    assert found(settings, "gpt-5.2") == (64_000, CHEAP, False)
    assert found(settings, "claude-x") == (64_000, usual, False)
    assert found(settings, None) == (64_000, usual, False)


def test_a_key_comes_before_a_model_and_a_key_s_model_before_both():
    everywhere = {"gpt-*": {"window": 8_000, "thrift": 0.9}}
    plain = {"keys": {"alice": KEY}, "per_model": everywhere}
    assert found(plain, "gpt-5.2", BEARER) == (8_000, CHEAP, False)
    own = {**KEY, "window": 50_000}
    assert found({**plain, "keys": {"alice": own}}, "gpt-5.2", BEARER) == (50_000, CHEAP, False)
    both = {**own, "per_model": {"gpt-5*": {"window": 20_000}}}
    assert found({**plain, "keys": {"alice": both}}, "gpt-5.2", BEARER) == (20_000, None, False)
    assert found({**plain, "keys": {"alice": both}}, "gpt-4o", BEARER) == (50_000, CHEAP, False)


def ask(gate, model, steps):
    messages = [{"role": "user", "content": f"Where is the bug, {model}?"}]
    for step in range(steps):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
        output = "\n".join(f"src/m{line}.py:{line}: found in step {step}" for line in range(120))
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{step}", "content": output},
        ]
    data = json.dumps({"model": model, "messages": messages, "tools": [TOOL]}).encode()
    _, headers, _ = gate.post("/v1/chat/completions", data)
    return int(headers["x-fanfold-edits"]), int(headers["x-fanfold-tokens"])


def test_a_conversation_is_kept_in_the_window_of_its_model():
    told = {"per_model": {"gpt-5.2": {"window": 12_000}}}
    with (
        Upstream([json.dumps(REPLY).encode()]) as upstream,
        Gate(upstream.url, **convert_fields(told)) as gate,
    ):
        edits, tokens = ask(gate, "gpt-5.2", 8)
        assert edits
        assert tokens < 12_000
        edits, tokens = ask(gate, "gpt-4o", 8)
        assert not edits
        assert tokens > 12_000


def convert_fields(told):
    settings = convert(told, ServeSettings)
    return {name: getattr(settings, name) for name in told}


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ('[serve.per_model."gpt-*"]\nwindow = 0\n', "A window is a number of tokens above zero."),
        ('[serve.per_model."gpt-*"]\nwidow = 9\n', "widow"),
        ('[serve.per_model."gpt-*"]\nstrategy = "magic"\n', "magic"),
        (
            '[serve.keys.a]\nkey = "a-key-of-sixteen-characters"\ntenant = "a"\n'
            '[serve.keys.a.per_model."x"]\nwindow = -1\n',
            "A window is a number of tokens above zero.",
        ),
    ],
)
def test_what_is_wrong_for_a_model_is_said(tmp_path, monkeypatch, written, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fanfold.toml").write_text(written)
    with pytest.raises(BadSetting, match=sentence):
        read_settings()


def test_the_settings_of_models_are_read_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "fanfold.toml"
    file.write_text('[serve]\nstore = "memory"\n[serve.per_model."gpt-*"]\nwindow = 16_000\n')
    gateway = Gateway(read_settings())
    assert gateway.keys.find([], "").for_model("gpt-5.2").window == 16_000
    file.write_text('[serve]\nstore = "memory"\n[serve.per_model."gpt-*"]\nwindow = 32_000\n')
    reload(gateway, {})
    assert gateway.keys.find([], "").for_model("gpt-5.2").window == 32_000
    file.write_text('[serve.per_model."gpt-*"]\nwindow = "much"\n')
    reload(gateway, {})
    assert gateway.keys.find([], "").for_model("gpt-5.2").window == 32_000


def test_what_holds_from_the_start_stays_when_settings_are_read_again_and_is_named(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "fanfold.toml"
    key = '[serve.keys.a]\nkey = "key-of-ana-0123456789"\ntenant = "a"\n'
    file.write_text(f'[serve]\nhost = "0.0.0.0"\nstore = "memory"\n{key}')
    gateway = Gateway(read_settings())
    file.write_text(f'[serve]\nhost = "127.0.0.1"\nport = 9\nstore = "sqlite:x.db"\nwindow = "32k"\n{key}')
    reload(gateway, {})
    held = gateway.settings
    assert (held.host, held.port, held.store, held.window) == ("0.0.0.0", 4141, "memory", 32_000)
    assert "only from the next start on: host, port, store." in caplog.text
    file.write_text('[serve]\nhost = "127.0.0.1"\n')
    reload(gateway, {})
    assert gateway.keys.needed, "it still listens for others, so it still wants keys"
    assert "there is no key" in caplog.text


def test_the_store_of_all_commands_is_the_gateways_too_unless_serve_names_another(tmp_path, monkeypatch):
    """A store in the environment goes before any in the file, a given one before both."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANFOLD_STORE", raising=False)
    file = tmp_path / "fanfold.toml"
    assert read_settings().store == "sqlite:agent.db"
    file.write_text('store = "sqlite:all.db"\n')
    assert read_settings().store == "sqlite:all.db"
    file.write_text('store = "sqlite:all.db"\n[serve]\nstore = "sqlite:served.db"\n')
    assert read_settings().store == "sqlite:served.db"
    monkeypatch.setenv("FANFOLD_STORE", "sqlite:mine.db")
    assert read_settings().store == "sqlite:mine.db"
    assert read_settings({"store": "memory"}).store == "memory"
