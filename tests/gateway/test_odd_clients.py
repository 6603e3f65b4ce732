"""Clients that change what they sent before: nothing is refused, doubled or lost, though much has to be left out."""

import json
import random
import re
from types import MappingProxyType

import pytest

from fanfold.testing.provider import Provider, Turn
from tests.gateway.gate import Gate

WINDOW = 32_000
STEPS = 42
WORDS = [stem + end for stem in ("par", "lex", "tok", "bind") for end in ("er", "_one", "file", "map")]
SETUP = "\n".join(f"Rule {n}: {' '.join(WORDS)}" for n in range(30))
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
BESIDE = ("Is this a loop?", "A title of at most", "commit message")
TITLE = "A title of at most five words for this conversation."


def output(n):
    """8 KB that no other step has."""
    chosen = random.Random(n)
    lines = (
        f"src/{chosen.choice(WORDS)}.py:{at}: {' '.join(chosen.choices(WORDS, k=9))}" for at in range(99)
    )
    return "\n".join([f"file number {n}", *lines])


def events(told):
    """What a stream of server-sent events says."""
    return [json.loads(line[6:]) for line in told.decode().split("\n") if line.startswith("data: {")]


class Talk:
    """What a client sends, and which outputs it has sent so far."""

    def __init__(self):
        self.sent = []
        self.begin()

    def give(self, n):
        """An output, which is sent with the next request."""
        self.sent.append(n)
        return output(n)


class GeminiCli(Talk):
    """Neighbouring texts joined, thoughts dropped, outputs masked; after a resume other signatures, and results twice.

    It streams, names no session, and asks a small model with the end of the history whether it goes round in circles.
    """

    path = "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse"
    headers = MappingProxyType({"x_goog_api_key": "any"})
    calls = staticmethod(
        lambda n: [("run_shell_command", {"command": f"cat {n}"})] * (2 if n % 7 == 3 else 1)
    )

    def begin(self):
        self.history = [{"role": "user", "parts": [{"text": SETUP}, {"text": "Look at all."}]}]

    def body(self):
        tool = {"name": "run_shell_command", "description": "Runs.", "parameters": SCHEMA}
        return {"contents": self.history, "tools": [{"functionDeclarations": [tool]}]}

    def take(self, told, n):
        parts = []
        for part in (p for one in events(told) for p in one["candidates"][0]["content"].get("parts", ())):
            if part.get("thought"):
                continue
            if "text" in part and parts and "text" in parts[-1] and "thoughtSignature" not in part:
                parts[-1] = {**parts[-1], "text": parts[-1]["text"] + part["text"]}
            else:
                parts.append(part)
        self.history.append({"role": "model", "parts": [part for part in parts if part != {"text": ""}]})
        asked = [part["functionCall"] for part in parts if "functionCall" in part]
        for at, call in enumerate(asked):
            answer = {"name": call["name"], "response": {"output": self.give(10 * n + at)}}
            answer |= {"id": call["id"]} if "id" in call else {}
            asked[at] = {"functionResponse": answer}
        if asked:
            self.history.append({"role": "user", "parts": asked})
        if n % 5 == 4:
            self._mask(n - 3)
        if n in (18, 33):
            self._resume()
        return "".join(part.get("text", "") for part in parts) if not asked else None

    def _mask(self, n):
        """An old output is replaced by a note that says where the client keeps it."""
        for message in self.history:
            for part in message["parts"]:
                told = part.get("functionResponse", {}).get("response", {}).get("output", "")
                if told.startswith(f"file number {10 * n}\n"):
                    part["functionResponse"]["response"] = {"output": f"<masked>kept as {n}.txt</masked>"}

    def _resume(self):
        """Another process reads the history from a file, and joins texts that stand side by side."""
        self.history[0]["parts"] = [{"text": "".join(part["text"] for part in self.history[0]["parts"])}]
        for message in self.history[:-1]:  # the last output was not sent so far
            twice = [part for part in message["parts"] if "functionResponse" in part]
            message["parts"] = [
                {**part, "thoughtSignature": "skip_thought_signature_validator"}
                if "thoughtSignature" in part
                else part
                for part in message["parts"]
            ] + (twice if len(twice) == 1 else [])

    def beside(self):
        end = {
            "role": "user",
            "parts": [{"text": json.dumps(self.history[-2:])}, {"text": "Is this a loop?"}],
        }
        asked = {"contents": [end]}
        return "/v1beta/models/gemini-2.5-flash:generateContent", asked


class OpenCode(Talk):
    """Arguments written anew each time, reasoning sent back, a small model asked for a title, streams."""

    path = "/v1/chat/completions"
    headers = MappingProxyType({"x_session_id": "ses_1", "x_session_affinity": "ses_1"})
    calls = staticmethod(
        lambda n: [("bash", {"description": "é", "command": f"cat {n}", "n": 1.0})] * (1 + (n % 8 == 5))
    )

    def begin(self):
        self.history = [{"role": "system", "content": SETUP}, {"role": "user", "content": "Look at all."}]

    def body(self):
        tool = {"name": "bash", "description": "Runs.", "parameters": SCHEMA}
        told = {"model": "gpt-4.1", "stream": True, "stream_options": {"include_usage": True}}
        return {**told, "messages": self.history, "tools": [{"type": "function", "function": tool}]}

    def take(self, told, n):
        said, calls = {"role": "assistant", "content": ""}, {}
        for delta in (one["delta"] for each in events(told) for one in each["choices"]):
            said["content"] += delta.get("content") or ""
            if delta.get("reasoning_content"):
                said["reasoning_content"] = said.get("reasoning_content", "") + delta["reasoning_content"]
            for call in delta.get("tool_calls") or ():
                kept = calls.setdefault(call["index"], {"id": call.get("id"), "name": "", "arguments": ""})
                kept["name"] += call["function"].get("name") or ""
                kept["arguments"] += call["function"].get("arguments") or ""
        for at, call in calls.items():
            given = json.loads(call["arguments"])
            again = json.dumps(dict(reversed(given.items())), indent=n % 3 or None, ensure_ascii=n % 2 == 0)
            function = {"name": call["name"], "arguments": again}
            said.setdefault("tool_calls", []).append(
                {"id": call["id"], "type": "function", "function": function}
            )
            calls[at] = {"role": "tool", "tool_call_id": call["id"], "content": self.give(10 * n + at)}
        self.history += [said, *calls.values()]
        return said["content"] if not calls else None

    def beside(self):
        return self.path, {"model": "gpt-4.1-nano", "messages": [{"role": "user", "content": TITLE}]}


class Aider(Talk):
    """No tools and no session: files stand among the messages and change, and an answer is a text with an edit."""

    path, headers = "/v1/chat/completions", {}
    calls = staticmethod(lambda n: [])

    def begin(self):
        self.done = []
        self.now = {"role": "user", "content": "Change file 0.\n" + self.give(0)}

    def body(self):
        reminder = {"role": "system", "content": "Answer with SEARCH/REPLACE blocks."}
        return {
            "model": "gpt-4.1",
            "messages": [{"role": "system", "content": SETUP}, *self.done, self.now, reminder],
        }

    def take(self, told, n):
        said = json.loads(told)["choices"][0]["message"]["content"]
        self.done += [self.now, {"role": "assistant", "content": said}]
        if said != "Done.":
            self.now = {"role": "user", "content": f"Change file {10 * n + 10}.\n{self.give(10 * n + 10)}"}
        return said

    def beside(self):
        asked = [
            {"role": "system", "content": "Write a commit message."},
            {"role": "user", "content": "+ a line"},
        ]
        return self.path, {"model": "gpt-4.1-nano", "messages": asked}


class VercelAi(Talk):
    """Responses with parts of its own making: reasoning by summary, results as JSON, ids dropped, all in one array."""

    path, headers = "/v1/responses", {}
    calls = staticmethod(lambda n: [("read", {"command": f"cat {n}"})] * (1 + (n % 6 == 2)))

    def begin(self):
        said = [{"type": "input_text", "text": "Look at all."}]
        self.history = [{"role": "developer", "content": SETUP}, {"role": "user", "content": said}]

    def body(self):
        tool = {
            "type": "function",
            "name": "read",
            "description": "Reads.",
            "parameters": SCHEMA,
            "strict": False,
        }
        told = {"model": "gpt-5.2", "store": False, "include": ["reasoning.encrypted_content"]}
        return {**told, "input": self.history, "tools": [tool], "tool_choice": "auto"}

    def take(self, told, n):
        text, asked = None, []
        for item in json.loads(told)["output"]:
            if item["type"] == "message":
                text = item["content"][0]["text"]
                said = [{"type": "output_text", "text": part["text"]} for part in item["content"]]
                self.history.append({"role": "assistant", "content": said})
            elif item["type"] == "reasoning":
                kept = ("type", "id", "encrypted_content", "summary")
                self.history.append({key: item[key] for key in kept if key in item})
            else:
                given = json.dumps(json.loads(item["arguments"]), separators=(",", ":"))
                call = {"type": "function_call", "call_id": item["call_id"], "name": item["name"]}
                self.history.append({**call, "arguments": given})
                asked.append(item["call_id"])
        for at, id in enumerate(asked):
            result = json.dumps({"ok": True, "text": self.give(10 * n + at)})
            self.history.append({"type": "function_call_output", "call_id": id, "output": result})
        return text if not asked else None

    def beside(self):
        return self.path, {"model": "gpt-4.1-nano", "store": False, "input": TITLE}


class VercelClaude(VercelAi):
    """Messages with results as JSON in one array, marks on the last message only, texts in pieces."""

    path, headers = "/v1/messages", {"anthropic_version": "2023-06-01", "x_api_key": "any"}

    def begin(self):
        self.history = [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Look"}, {"type": "text", "text": " at all."}],
            }
        ]

    def body(self):
        tool = {"name": "read", "description": "Reads.", "input_schema": SCHEMA}
        marked = json.loads(json.dumps(self.history))
        marked[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        told = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 4_000,
            "system": [{"type": "text", "text": SETUP}],
        }
        return {**told, "messages": marked, "tools": [tool], "tool_choice": {"type": "auto"}}

    def take(self, told, n):
        said = json.loads(told)["content"]
        self.history.append({"role": "assistant", "content": said})
        calls = [part["id"] for part in said if part["type"] == "tool_use"]
        results = [
            {
                "type": "tool_result",
                "tool_use_id": id,
                "content": [{"type": "text", "text": self.give(10 * n + at)}],
            }
            for at, id in enumerate(calls)
        ]
        if results:
            self.history.append({"role": "user", "content": results})
        return said[-1].get("text") if not calls else None

    def beside(self):
        asked = [{"role": "user", "content": TITLE}]
        return self.path, {"model": "claude-haiku-4-5", "max_tokens": 30, "messages": asked}


FILE_SENT = re.compile(rb"file number (\d+)\\+nsrc")
FILE = re.compile(r"file number (\d+)\n")


def numbers(message):
    """The outputs that stand whole in a message, and in which order."""
    texts = [message.text, *(part.text for part in message.results)]
    told = [json.loads(text)["text"] if text.startswith('{"ok"') else text for text in texts]
    found = (int(n) for text in told for n in FILE.findall(text) if output(int(n)) in text)
    return list(found)


def script(shape):
    """A call for many steps, twice a look-up, and a text; a small model says no more than one word."""
    rounds = iter(range(999))

    def play(request):
        told = json.dumps(request.body)
        if any(word in told for word in BESIDE):
            return Turn("No.")
        n = next(rounds)
        if n in (12, 30) and "tool_output_cache" in told:
            return Turn("", calls=[("tool_output_cache", {"ref_id": "o1"})])
        thinking = "" if shape is VercelClaude else "Hm."
        if n >= STEPS:
            return Turn("Done.", thinking=thinking)
        return Turn("So. " + "Next: " * (n % 3), calls=shape.calls(n), thinking=thinking)

    return play


@pytest.mark.parametrize("shape", [GeminiCli, OpenCode, Aider, VercelAi, VercelClaude])
def test_nothing_is_refused_doubled_or_lost(shape):
    with Provider(script(shape), window=WINDOW) as provider, Gate(provider.url, window=WINDOW) as gate:
        client, text, edits, steps = shape(), None, 0, 0
        while text != "Done.":
            status, headers, told = gate.post(
                client.path, json.dumps(client.body()).encode(), **client.headers
            )
            assert status == 200, told
            edits = max(edits, int(headers.get("x-fanfold-edits", 0)))
            text, steps = client.take(told, steps), steps + 1
            seen = FILE_SENT.findall(provider.requests[-1].raw)
            assert len(seen) == len(set(seen)), "the model sees no output twice"
            if steps % 10 == 4:
                path, asked = client.beside()
                assert gate.post(path, json.dumps(asked).encode(), **client.headers)[0] == 200
        pool = gate.gateway.conversations.pool
        paths = []
        for name in pool.store.sessions("default"):
            with pool.session(name) as chat:
                entries = pool.store.path("default", chat.head)
                paths.append([n for entry in reversed(list(entries)) for n in numbers(entry.message)])
    assert {each.verdict for each in provider.requests} == {"accepted"}
    assert max(each.tokens for each in provider.requests) <= WINDOW
    assert (edits > 0, steps >= 40) == (True, True)
    assert max(paths, key=len) == client.sent, "each output is in the log once, in its place"
