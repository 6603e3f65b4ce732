"""The rules of Chat Completions, stated once more: nothing here is taken from fanfold's own rules."""

from typing import Any

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


def faults(request: dict[str, Any]) -> list[str]:
    """What OpenAI would answer 400 to."""
    messages = request["messages"]
    found = [] if messages else ["no messages"]
    waiting: set[str] = set()
    for at, message in enumerate(messages):
        role = message.get("role")
        if role not in _ROLES:
            found.append(f"{at}: role {role!r}")
        if role == "tool":
            id = message.get("tool_call_id")
            found += [] if id in waiting else [f"{at}: result for {id!r}, waiting are {waiting}"]
            waiting.discard(id)
        elif waiting:
            found.append(f"{at}: {waiting} not answered")
            waiting = set()
        found += [f"{at}: {fault}" for fault in _alone(message)]
        waiting |= {call["id"] for call in message.get("tool_calls") or ()}
    return found + ([f"the end: {waiting} not answered"] if waiting else [])


def _alone(message: dict[str, Any]) -> list[str]:
    content, calls = message.get("content"), message.get("tool_calls")
    found = []
    if content is None and not (calls or message.get("refusal") or message.get("function_call")):
        found.append("no content")
    if content == [] or calls == []:
        found.append("an empty array")
    if isinstance(content, list) and message["role"] != "user":
        found += ["a picture" for part in content if part.get("type") == "image_url"]
    if calls and message["role"] != "assistant":
        found.append("calls by another than the assistant")
    ids = [call["id"] for call in calls or ()]
    if len(ids) != len(set(ids)):
        found.append("two calls with one id")
    return found
