"""Every wrong setting is named, with its line and a way out."""

import pytest

KEY = 'key = "a-key-of-sixteen-characters"\n'
ALICE = f'[serve.keys.alice]\n{KEY}tenant = "alice"\n'


def check(run, folder, written, *told):
    """What the command says about these settings."""
    (folder / "fanfold.toml").write_text(written)
    code, out, err = run("serve", "--check", *told)
    return code, out + err


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[serve]\nwindw = 3\n", ["line 2: There is no setting of [serve] 'windw'. Did you mean 'window'?"]),
        ("[serve]\n\nport = 'x'\n", ["line 3: port is a whole number."]),
        ("[serve]\nport = 99999\n", ["line 2: A port is a number up to 65535"]),
        ("[serve]\nhosts = 'x'\n", ["line 2: hosts is a list of texts"]),
        ("[serve]\ninspector = 'maybe'\n", ['line 2: inspector is "write" or "read" or "off".']),
        ("[serve]\nwindow = 5\n", ["line 2: A window of 5 tokens holds no conversation. Did you mean 5k?"]),
        ("[serve]\nmemory = 0\n", ["line 2: memory is a number of bytes above zero."]),
        ("[serve]\nhost = '0.0.0.0'\n", ["line 2: The gateway would listen on 0.0.0.0", "Add [serve.keys]"]),
        ("[serve]\nthrift = 7\n", ["line 2: thrift is a number from 0"]),
        ("[serve]\nstrategy = 'magic'\n", ["line 2: There is no strategy 'magic'. Known are"]),
        ("[serve]\nstore = 'mysql://x'\n", ["line 2: There is no store 'mysql://x'. Say `memory`"]),
        ("[serve]\nstore = 'sqlite:no/where.db'\n", ["line 2: The store is no/where.db", "Make it, or"]),
        ("[serve]\njournal = 'no/lines.jsonl'\n", ["line 2: The journal is no/lines.jsonl", "Make it, or"]),
        (
            "[serve.upstreams]\nopenai = 'ftp://x'\n",
            ["line 2: The upstream openai has no address that can be asked"],
        ),
        (
            "[serve.upstreams]\nopenai = 'http://'\n",
            ["line 2: The upstream openai has no address that can be asked"],
        ),
        ("[serve.upstreams]\nopenai = 'http://a:99999'\n", ["line 2: The upstream openai has no address"]),
        ("[serve.upstreams]\nopenia = 'http://a'\n", ["line 2: There is no upstream 'openia'. Did you mean"]),
        ('[serve.per_model."a*"]\nwindow = 0\n', ["line 2: A window is a number of tokens above zero."]),
        ("[serve.models]\na = 5\n", ["line 2: a is a text in quotes."]),
        (ALICE + "window = 'big'\n", ['line 4: window is a whole number, or a size such as "16k".']),
        (ALICE + "anthropic = 'env:NOBODY_SET'\n", ["line 4: ", "NOBODY_SET, which is not set."]),
        (f"[serve.keys.a]\n{KEY}", ["line 1: [serve.keys.a] has no tenant: add one."]),
        (f"[serve.keys.a]\n{KEY}tenant = ''\n", ["line 3: The tenant of [serve.keys.a] has no name"]),
        ("[serve.keys.a]\nkey = 'short'\ntenant = 'a'\n", ["line 2: The key of [serve.keys.a] is too short"]),
        (f"{ALICE}[serve.keys.bob]\n{KEY}tenant = 'bob'\n", ["line 5: [serve.keys.bob] has the same key as"]),
        (f'[serve.keys.a]\n{KEY}tenant = "a\\u001fb"\n', ["line 3: The tenant of [serve.keys.a] has a sign"]),
        ("[budget]\ntrigger = 7\n", ["line 2: ", "Lower the target."]),
        (
            "[serve]\nport = -1\nwindow = 0\nthrift = 7\n",
            ["line 2: A port", "line 3: A window", "line 4: thrift"],
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_a_way_out(run, tmp_path, written, said):
    code, output = check(run, tmp_path, written)
    assert code != 0
    assert [each for each in said if each not in output] == []
    assert "sixteen" not in output, "no key is repeated"


def test_what_the_command_line_says_has_no_line(run, tmp_path):
    code, output = check(run, tmp_path, "[serve]\nport = 4141\n", "--port", "99999")
    assert code != 0
    assert "A port is a number" in output
    assert "line" not in output


def test_looking_whether_all_is_right_makes_no_file(run, tmp_path):
    assert check(run, tmp_path, ALICE)[1] == "The settings are right.\n"
    assert [file.name for file in tmp_path.iterdir()] == ["fanfold.toml"]


def test_a_window_on_the_command_line_that_holds_no_conversation_is_refused_before_it_serves(run):
    for more in ((), ("--check",)):
        ran = run("serve", "--window", "5", *more)
        assert (ran.code, "A window of 5 tokens holds no conversation. Did you mean 5k?" in ran.err) == (
            2,
            True,
        )


def test_each_mistake_has_a_line_of_its_own(run, tmp_path):
    (tmp_path / "fanfold.toml").write_text("[serve]\nport = -1\nwindow = 0\n")
    told = run("serve", "--check").err.splitlines()
    assert [line.partition(":")[0] for line in told] == ["fanfold", "fanfold"]
    assert ("line 2" in told[0], "line 3" in told[1]) == (True, True)


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ('host = "0.0.0.0"\n', "http://127.0.0.1:4141"),
        ('host = "0.0.0.0"\nhosts = ["gw.example"]\n', "http://gw.example:4141"),
        ('host = "::"\nport = 5000\n', "http://127.0.0.1:5000"),
        ('host = "::1"\n', "http://[::1]:4141"),
    ],
)
def test_clients_are_given_an_address_that_can_be_called_and_told_of_the_key(run, tmp_path, written, url):
    (tmp_path / "fanfold.toml").write_text(f"[serve]\n{written}{ALICE}")
    lines = run("serve", "--print", "claude-code").out.splitlines()
    assert lines == [f"ANTHROPIC_BASE_URL={url} claude", "# and as its API key, a key of [serve.keys]"]
