"""What a client tells the model before its first words stays, wherever a provider wants it said."""

import fanfold
from fanfold.strategies.framing import framing

WINDOW = 8_000
RULES = "# Environment\n" + "\n".join(f"Rule {n}: leave file{n}.py alone." for n in range(60))
TOOLS = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [{"type": "custom", "name": "exec", "description": "Runs a script. " * 40}],
}


def output(n):
    return "\n".join(f"src/part{n}/line{line}.py:{line}: value {n * line}" for line in range(120))


def in_anthropic(steps):
    yield {"role": "user", "content": "Look at all files."}
    yield {"role": "system", "content": [{"type": "text", "text": RULES}]}
    for n in range(steps):
        use = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"cat {n}"}}
        yield {"role": "assistant", "content": [use]}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": output(n)}
        yield {"role": "user", "content": [result]}


def in_responses(steps):
    yield TOOLS
    yield {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": RULES}]}
    yield {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "Look at all files."}],
    }
    for n in range(steps):
        yield {"type": "custom_tool_call", "call_id": f"c{n}", "name": "exec", "input": f"cat {n}"}
        yield {"type": "custom_tool_call_output", "call_id": f"c{n}", "output": output(n)}


def requests(bodies, **options):
    """Every request of a client that sends its whole history each time."""
    with fanfold.open("run", window=WINDOW, **options) as chat:
        for end in range(2, len(bodies) + 1):
            chat.merge(bodies[:end])
            if chat.view().rows[-1].role != "assistant":
                yield chat.request(max_tokens=500), chat.view()


def test_a_system_message_behind_the_first_request_is_never_folded():
    sent = list(requests(list(in_anthropic(30)), dialect="anthropic", model="claude-opus-4-8", filters=()))
    for request, _ in sent:
        shown = "".join(str(message["content"]) for message in request["messages"])
        assert shown.count("Rule 59: leave file59.py alone.") == 1
    view = sent[-1][1]
    assert any(row.kind == "fold" for row in view.rows)


def test_tools_and_instructions_among_the_items_are_never_folded():
    sent = list(requests(list(in_responses(30)), dialect="openai.responses", model="gpt-5.2"))
    for request, _ in sent:
        assert request["input"][0] == TOOLS
        assert RULES in str(request["input"][1]["content"][0]["text"])
    view = sent[-1][1]
    assert any(row.kind == "fold" for row in view.rows)
    assert framing(view) == view.frame.tokens + view.rows[0].tokens + view.rows[1].tokens


def test_tools_that_come_later_stay_while_a_later_word_of_the_system_may_go():
    later = {**TOOLS, "tools": [{"type": "custom", "name": "later", "description": "Comes later."}]}
    note = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be quick."}]}
    items = list(in_responses(30))
    items[9:9] = [later, note]
    *_, (request, _) = requests(items, dialect="openai.responses", model="gpt-5.2")
    assert later in request["input"]
    assert note not in request["input"]


def test_a_view_says_why_they_stay():
    with fanfold.open("run", window=WINDOW, dialect="openai.responses") as chat:
        chat.merge(list(in_responses(2)))
        view = chat.view()
        assert view.keeps(view.rows[0]) == "it is an instruction"
        assert view.keeps(view.rows[1]) == "it is an instruction"
