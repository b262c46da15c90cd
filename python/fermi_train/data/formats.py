"""Which format a row has, and whether it is right."""

from __future__ import annotations

from typing import Any, TypeAlias

from .problems import RowProblem

Messages: TypeAlias = list[dict[str, str]]
ROLES = ("system", "user", "assistant", "tool")
_OTHER_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant", "model": "assistant", "function": "tool"}
FORMATS = ("text", "chat", "instruction", "preference", "prompt")
# Which formats an algorithm trains on, its usual one first.
OF_ALGORITHM = {
    "sft": ("chat", "instruction", "text"),
    "reward": ("preference",),
    "dpo": ("preference",),
    "grpo": ("prompt", "instruction", "chat"),
    "ppo": ("prompt", "instruction", "chat"),
}


def recognise(row: Any) -> str:
    """Gives the format of a row by its keys."""
    if not isinstance(row, dict):
        raise RowProblem("not_object", type(row).__name__)
    has = row.keys()
    if "chosen" in has or "rejected" in has:
        return "preference"
    if "messages" in has or "conversations" in has:
        return "chat"
    if ("prompt" in has or "instruction" in has) and ("completion" in has or "output" in has or "response" in has):
        return "instruction"
    if "prompt" in has:
        return "prompt"
    if "instruction" in has:
        raise RowProblem("missing", "output")
    if "text" in has:
        return "text"
    raise RowProblem("unknown_format", ", ".join(list(row)[:5]))


def check(row: dict[str, Any], kind: str) -> dict[str, Any]:
    """Gives a row in the one shape of its format, or raises `RowProblem`."""
    match kind:
        case "text":
            return {"text": text(row, "text")}
        case "chat":
            messages = conversation(row.get("messages", row.get("conversations")))
            if not any(message["role"] == "assistant" for message in messages):
                raise RowProblem("no_assistant")
            if messages[-1]["role"] != "assistant":
                raise RowProblem("assistant_not_last")
            return {"messages": messages}
        case "instruction":
            return _instruction(row)
        case "preference":
            return _preference(row)
        case _:
            rest = {name: value for name, value in row.items() if name != "prompt"}
            return {"prompt": either(row, "prompt"), **rest}


def _instruction(row: dict[str, Any]) -> dict[str, Any]:
    prompt = either(row, "prompt" if "prompt" in row else "instruction")
    more = row.get("input")
    if more is not None and not isinstance(more, str):
        raise RowProblem("field_not_text", "input")
    if more and isinstance(prompt, str):
        prompt = f"{prompt}\n{more}"
    answer = next(name for name in ("completion", "output", "response") if name in row)
    return {"prompt": prompt, "completion": either(row, answer)}


def _preference(row: dict[str, Any]) -> dict[str, Any]:
    for name in ("chosen", "rejected"):
        if name not in row:
            raise RowProblem("missing", name)
    chosen, rejected = either(row, "chosen"), either(row, "rejected")
    if type(chosen) is not type(rejected):
        raise RowProblem("field_not_text", "chosen, rejected")
    if chosen == rejected:
        raise RowProblem("same_answers")
    if "prompt" in row:
        return {"prompt": either(row, "prompt"), "chosen": chosen, "rejected": rejected}
    common = 0
    while common < min(len(chosen), len(rejected)) - 1 and chosen[common] == rejected[common]:
        common += 1
    if common == 0:
        raise RowProblem("other_prompts" if isinstance(chosen, list) else "missing", "prompt")
    return {"prompt": chosen[:common], "chosen": chosen[common:], "rejected": rejected[common:]}


def text(row: dict[str, Any], name: str) -> str:
    """Gives a field that is a text with something in it."""
    value = row.get(name)
    if value is None:
        raise RowProblem("missing", name)
    if not isinstance(value, str):
        raise RowProblem("field_not_text", name)
    if not value.strip():
        raise RowProblem("field_empty", name)
    _whole_letters(value, name)
    return value


def either(row: dict[str, Any], name: str) -> str | Messages:
    """Gives a field that is a text, or a list of messages."""
    value = row.get(name)
    return conversation(value, name) if isinstance(value, list) else text(row, name)


def conversation(value: Any, name: str = "messages") -> Messages:
    """Gives messages with `role` and `content`, from the usual spellings of both."""
    if not isinstance(value, list):
        raise RowProblem("not_list", type(value).__name__)
    if not value:
        raise RowProblem("no_messages", name)
    messages: Messages = []
    for index, message in enumerate(value):
        if not isinstance(message, dict):
            raise RowProblem("not_message", f"{name}[{index}]")
        role = message.get("role", message.get("from"))
        if not isinstance(role, str) or not role:
            raise RowProblem("no_role", f"{name}[{index}]")
        role = _OTHER_ROLES.get(role, role)
        if role not in ROLES:
            raise RowProblem("unknown_role", role)
        content = message.get("content", message.get("value"))
        if not isinstance(content, str):
            raise RowProblem("content_not_text", f"{name}[{index}]")
        if not content.strip():
            raise RowProblem("content_empty", f"{name}[{index}]")
        _whole_letters(content, f"{name}[{index}]")
        if role == "system" and index > 0:
            raise RowProblem("system_not_first", f"{name}[{index}]")
        if messages and messages[-1]["role"] == role and role != "tool":
            raise RowProblem("same_role_twice", f"{name}[{index}]: {role}")
        messages.append({"role": role, "content": content})
    return messages


def _whole_letters(value: str, name: str) -> None:
    if value.isascii():
        return
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise RowProblem("half_letter", name) from None
