"""What is wrong with a file, in Fermi's own sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .sentence import Sentence, in_chinese


@dataclass(frozen=True)
class Mistake:
    """One mistake: where it is (empty for the file as a whole), what it is, and what to do about it."""

    path: str
    text: str
    hint: str

    def line(self) -> Sentence:
        """Gives the mistake with its hint."""
        return Sentence(f"{in_chinese(self.text)}（{in_chinese(self.hint)}）", f"{self.text} ({self.hint})")


class TrainingYamlError(ValueError):
    """All mistakes of a file, so that they can be corrected in one go."""

    def __init__(self, mistakes: Sequence[Mistake], file: str | None = None) -> None:
        """Keeps the mistakes; the file is named where it is known."""
        self.mistakes = list(mistakes)
        self.file = file
        lines = "\n  ".join(mistake.line() for mistake in self.mistakes)
        super().__init__(f"{file or 'training.yaml'} has mistakes:\n  {lines}")

    def __reduce__(self) -> tuple[type[TrainingYamlError], tuple[list[Mistake], str | None]]:
        """Lets the error cross to another process, as data loaders do with theirs."""
        return type(self), (self.mistakes, self.file)


def syntax(message: str) -> Mistake:
    """Says that the parser understood nothing."""
    text = Sentence(f"不是有效的 YAML：{message}", f"not YAML: {message}")
    return Mistake("", text, Sentence("检查缩进与引号", "look at indentation and quotes"))


def not_utf8() -> Mistake:
    """Says that the bytes are no text."""
    text = Sentence("文件不是 UTF-8 文本", "the file is no UTF-8 text")
    return Mistake("", text, Sentence("另存为 UTF-8", "save it as UTF-8"))


def not_sections() -> Mistake:
    """Says that the file is a list or a word."""
    text = Sentence("文件应由键和值组成", "the file must hold keys with values")
    return Mistake("", text, Sentence("例如 training: 及其下的键", "such as training: with keys below it"))


def several_documents() -> Mistake:
    """Says that more than one document stands in the file."""
    text = Sentence("文件含有多个 YAML 文档", "the file holds more than one YAML document")
    return Mistake("", text, Sentence("删除 --- 之后的内容", "remove what follows the ---"))


def key_not_text() -> Mistake:
    """Says that a key is nothing, a list or a section."""
    return Mistake("", Sentence("有一个键不是文本", "a key is no text"), Sentence("为它加上引号", "put it in quotes"))


def twice(key: str, line: int) -> Mistake:
    """Says that a key stands twice in one section."""
    text = Sentence(f"键 {key} 在第 {line} 行重复", f"the key {key} stands twice, again in line {line}")
    return Mistake(key, text, _KEEP_ONE)


def unknown_key(path: str, suggestion: str | None) -> Mistake:
    """Says that nobody knows a key, and which one was probably meant."""
    hint = Sentence("请删除该键", "remove it")
    if suggestion:
        hint = Sentence(f"是否指 {suggestion}？", f"did you mean {suggestion}?")
    return Mistake(path, Sentence(f"未知的键 {path}", f"unknown key {path}"), hint)


def wrong_value(path: str, given: str, wanted: Sentence) -> Mistake:
    """Says that a value is not of its key's kind."""
    text = Sentence(f"{path} 的值 {given} 无效", f"{given} is no value for {path}")
    return Mistake(path, text, Sentence(f"应为{wanted.zh}", f"give {wanted}"))


def disagree(one: tuple[str, str], other: tuple[str, str]) -> Mistake:
    """Says that one thing stands in two spellings, with two values."""
    zh, en = f"{one[0]} 为 {one[1]}，而 {other[0]} 为 {other[1]}", f"{one[0]} is {one[1]}, but {other[0]} is {other[1]}"
    return Mistake(one[0], Sentence(zh, en), _KEEP_ONE)


def batch_too_large() -> Mistake:
    """Says that the batch of all ranks passes every bound."""
    hint = Sentence("请减小批次或累积步数", "give a smaller batch or fewer accumulation steps")
    return Mistake("training.per_device_train_batch_size", Sentence("批次过大", "The batch is too large"), hint)


_KEEP_ONE = Sentence("只保留一处", "keep one of them")
