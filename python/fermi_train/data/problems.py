"""What can be wrong with a row."""

from __future__ import annotations

from dataclasses import dataclass

from ..messages import Text

REASONS: dict[str, Text] = {
    "empty_line": Text("空行", "the line is empty"),
    "not_utf8": Text("不是 UTF-8 文本", "it is no UTF-8 text"),
    "not_json": Text("不是 JSON", "it is no JSON"),
    "not_csv": Text("不是 CSV", "it is no CSV"),
    "key_twice": Text("同一个键出现两次", "a key stands twice"),
    "no_number": Text("NaN 或 Infinity 不是 JSON 数字", "NaN and Infinity are no numbers of JSON"),
    "wrong_fields": Text("字段数与表头不符", "the number of fields is not that of the header"),
    "not_object": Text("不是 JSON 对象", "it is no JSON object"),
    "unknown_format": Text("无法识别格式", "its format is not known"),
    "other_format": Text("格式与其他行不同", "its format is not that of the other rows"),
    "not_list": Text("messages 不是列表", "messages is no list"),
    "no_messages": Text("messages 为空", "messages is empty"),
    "not_message": Text("消息不是对象", "a message is no object"),
    "no_role": Text("消息没有角色", "a message has no role"),
    "unknown_role": Text("未知角色", "the role is not known"),
    "content_not_text": Text("消息内容不是文本", "the content of a message is no text"),
    "content_empty": Text("消息内容为空", "the content of a message is empty"),
    "system_not_first": Text("system 消息不在最前", "a system message is not the first"),
    "same_role_twice": Text("连续两条消息角色相同", "two messages in a row have one role"),
    "no_assistant": Text("没有 assistant 消息", "there is no message of the assistant"),
    "assistant_not_last": Text("最后一条消息不是 assistant", "the last message is not of the assistant"),
    "field_not_text": Text("字段不是文本", "a field is no text"),
    "field_empty": Text("字段为空", "a field is empty"),
    "missing": Text("缺少字段", "a field is missing"),
    "same_answers": Text("chosen 与 rejected 相同", "chosen and rejected are the same"),
    "other_prompts": Text("chosen 与 rejected 的开头不同", "chosen and rejected begin differently"),
    "half_letter": Text("含有半个字符（孤立代理项）", "half of a letter stands alone"),
    "nothing_to_learn": Text("max_length 以内没有可学习的词元", "no token to learn is left within max_length"),
}


@dataclass
class BadRow:
    """A row that cannot be used: its line, why, and which part of it."""

    line: int
    reason: str
    detail: str = ""

    def text(self) -> Text:
        """Says why."""
        why = REASONS[self.reason]
        return Text(f"{why.zh}（{self.detail}）", f"{why.en} ({self.detail})") if self.detail else why


class RowProblem(Exception):
    """Raised where a check finds something wrong with a row."""

    def __init__(self, reason: str, detail: str = "") -> None:
        """Keeps the reason's name, one of `REASONS`, and what it speaks of."""
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


def problem(line: int, reason: str, detail: str = "") -> BadRow:
    """Makes a `BadRow`."""
    return BadRow(line, reason, detail)
