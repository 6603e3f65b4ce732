"""OpenHands' older events: an agent's or a person's `action` with `args`, and the `observation` that it caused.

Where tools were called by function calling, `tool_call_metadata` holds the whole response of the model; otherwise an
action is told as the call that it was.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from fanfold.transcripts.chat import make_answer, make_call, make_result, text_of
from fanfold.transcripts.conversation import Recorded, Wire
from fanfold.transcripts.values import first_string, listing, mapping, mappings, number, seconds, string

UNSENT = (
    "change_agent_state",
    "agent_state_changed",
    "recall",
    "null",
    "loop_recovery",
    "condensation_request",
)
"""Events that OpenHands keeps for itself."""
NO_ARGUMENTS = ("thought", "is_confirmed", "confirmation_state", "blocking", "hidden", "is_input")


def is_event(record: Wire) -> bool:
    """Is this an action with its arguments, or an observation with what came of it?"""
    if "kind" in record:
        return False
    acts = string(record.get("action")) is not None and isinstance(record.get("args"), dict)
    sees = string(record.get("observation")) is not None and bool({"extras", "cause"} & set(record))
    return acts or (sees and "content" in record)


class Action:
    """Actions and observations being told."""

    def __init__(self) -> None:
        self.draft = Recorded()
        self.model: str | None = None
        self.tools: list[Wire] = []
        self.answers: set[str] = set()
        """Responses that stand in the draft: parallel calls name the same one."""
        self.calls: dict[int, str] = {}
        """The call that each action was told as."""
        self.places: dict[int, int] = {}
        """The message that each event became."""
        self.other: Counter[str] = Counter()

    def take(self, event: Wire) -> None:
        """Tell one event."""
        time, args = seconds(event.get("timestamp")), mapping(event.get("args"))
        self.places[number(event.get("id"))] = len(self.draft.messages)
        action, seen = string(event.get("action")), string(event.get("observation"))
        if (action or seen or "null") in UNSENT:
            self.other[action or seen or "null"] += 1
        elif action == "condensation":
            self._condense(args, time)
        elif action == "system":
            self.tools = [tool for tool in mappings(args.get("tools")) if "function" in tool]
            self.draft.add({"role": "system", "content": string(args.get("content")) or ""}, time)
        elif action:
            self._act(action, event, args, time)
        else:
            self._see(event, time)

    def _act(self, action: str, event: Wire, args: Wire, time: float | None) -> None:
        told = mapping(event.get("tool_call_metadata"))
        response = mapping(told.get("model_response"))
        if mappings(response.get("choices")):
            self._answer(response, time)
        elif action == "message":
            self._say(event, args, time)
        else:
            id = string(told.get("tool_call_id")) or f"action_{number(event.get('id'))}"
            self.calls[number(event.get("id"))] = id
            arguments = {
                key: value for key, value in args.items() if key not in NO_ARGUMENTS and value is not None
            }
            name = string(told.get("function_name")) or action
            self.draft.add(
                make_answer(string(args.get("thought")) or "", [make_call(id, name, arguments)]), time
            )

    def _answer(self, response: Wire, time: float | None) -> None:
        """Append the model's response once, however many actions came of it."""
        id = string(response.get("id")) or f"response {len(self.answers)}"
        if id in self.answers:
            return
        self.answers.add(id)
        self.model = string(response.get("model")) or self.model
        message = mapping(mappings(response["choices"])[0].get("message"))
        calls = [call for call in mappings(message.get("tool_calls")) if "function" in call]
        thought = string(message.get("reasoning_content")) or ""
        usage = mapping(response.get("usage")) or None
        self.draft.add(make_answer(message.get("content") or "", calls, thought), time, usage)

    def _say(self, event: Wire, args: Wire, time: float | None) -> None:
        text = string(args.get("content")) or string(event.get("message")) or ""
        urls = [url for url in listing(args.get("image_urls")) if isinstance(url, str)]
        images = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        content: Any = [{"type": "text", "text": text}, *images] if images else text
        role = "assistant" if event.get("source") == "agent" else "user"
        self.draft.add({"role": role, "content": content}, time)

    def _see(self, event: Wire, time: float | None) -> None:
        """Append what came of an action; what no call caused, the model was told as a user's message."""
        told = mapping(event.get("tool_call_metadata"))
        call = string(told.get("tool_call_id")) or self.calls.get(number(event.get("cause")))
        text = text_of(event.get("content"))
        if call:
            self.draft.add(make_result(call, text), time)
        elif text:
            self.draft.add({"role": "user", "content": text}, time)

    def _condense(self, args: Wire, time: float | None) -> None:
        ids = [id for id in listing(args.get("forgotten_event_ids")) if isinstance(id, int)]
        start, end = (
            number(args.get("forgotten_events_start_id")),
            number(args.get("forgotten_events_end_id")),
        )
        gone = {at for id, at in self.places.items() if id in ids or (end and start <= id <= end)}
        kept = [at for at in range(len(self.draft.messages)) if at not in gone]
        summary = first_string(args, "summary")
        self.draft.compact([{"role": "user", "content": summary}] if summary else [], time, kept=kept)
