"""Builders of Responses items, small conversations, and a judge that is not fanfold's."""

from fanfold.dialects.dialect import bare_row
from fanfold.dialects.responses.dialect import OpenAIResponses
from fanfold.testing.provider.rejection import JudgeTerms
from fanfold.testing.provider.rules import check as judged

DIALECT = OpenAIResponses()


def said(text="hello", role="user", **more):
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}], **more}


def replied(text="hi", **more):
    return said(text, "assistant", **more)


def called(call="c1", arguments="{}", name="grep", **more):
    return {"type": "function_call", "call_id": call, "name": name, "arguments": arguments, **more}


def returned(call="c1", output="out", type="function_call_output", **more):
    return {"type": type, "call_id": call, "output": output, **more}


def thought(text="", sealed="gAAA", **more):
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"type": "reasoning", "summary": summary, "encrypted_content": sealed, **more}


def custom(call="c1", **more):
    return {"type": "custom_tool_call", "call_id": call, "name": "apply", "input": "*** Begin", **more}


def shell(call="c1", **more):
    return {
        "type": "shell_call",
        "call_id": call,
        "action": {"commands": ["ls"]},
        "status": "completed",
        **more,
    }


def local_shell(call="c1", **more):
    action = {"type": "exec", "command": ["ls"], "env": {}}
    return {"type": "local_shell_call", "id": "lsh_1", "call_id": call, "action": action, **more}


def patch(call="c1", **more):
    operation = {"type": "update_file", "path": "a.py", "diff": "@@"}
    return {
        "type": "apply_patch_call",
        "call_id": call,
        "operation": operation,
        "status": "completed",
        **more,
    }


def computer(call="c1", **more):
    return {"type": "computer_call", "call_id": call, "id": "cu_1", "action": {"type": "screenshot"}, **more}


def tool_search(call="c1", **more):
    return {"type": "tool_search_call", "call_id": call, "execution": "client", "arguments": {"q": 1}, **more}


def approval(id="mcpr_1", **more):
    return {
        "type": "mcp_approval_request",
        "id": id,
        "name": "go",
        "server_label": "s",
        "arguments": "{}",
    } | more


EVERY_CALL = (called, custom, shell, local_shell, patch, computer, tool_search)
EVERY_OUTPUT = {
    "function_call": returned(),
    "custom_tool_call": returned(type="custom_tool_call_output"),
    "shell_call": returned(
        type="shell_call_output",
        output=[{"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 0}}],
    ),
    "local_shell_call": returned(type="local_shell_call_output"),
    "apply_patch_call": returned(type="apply_patch_call_output", status="completed"),
    "computer_call": returned(
        type="computer_call_output",
        output={"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="},
    ),
    "tool_search_call": {"type": "tool_search_output", "call_id": "c1", "tools": [{"name": "t"}]},
}


def request(*items, **more):
    return {"model": "gpt-5.2", "input": list(items), **more}


def rows_of(*items):
    return [bare_row(DIALECT, DIALECT.message(item), i) for i, item in enumerate(items)]


def violations(*items, **params):
    """The names of the rules that a request of these items breaks."""
    allowed = DIALECT.allow(rows_of(*items), params)
    return {fault.rule for fault in DIALECT.check(allowed.rows, allowed.params)}


def repaired(*items, **params):
    """The items after repair, and how many rows it touched."""
    rows = rows_of(*items)
    repairs = dict(DIALECT.repair(rows, params))
    shown = [repairs.get((row.id,), row.messages) for row in rows]
    return [body for messages in shown for message in messages for body in DIALECT.wire(message)], len(
        repairs
    )


def refused(body):
    """Why the scripted provider says no to a request, or nothing."""
    rejection = judged("responses", body, JudgeTerms(str(body.get("model")), foreign=True))
    return f"{rejection.rule}: {rejection.message}" if rejection else ""
