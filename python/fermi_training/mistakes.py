"""What is wrong with a file, in Fermi's own sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """One mistake: where it is (empty for the file as a whole), what it is, and what to do about it."""

    path: str
    text: str
    hint: str

    def line(self) -> str:
        """Gives the mistake with its hint."""
        return f"{self.text} ({self.hint})"


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
    return Mistake("", f"not YAML: {message}", "look at indentation and quotes")


def not_utf8() -> Mistake:
    """Says that the bytes are no text."""
    return Mistake("", "the file is no UTF-8 text", "save it as UTF-8")


def not_sections() -> Mistake:
    """Says that the file is a list or a word."""
    return Mistake("", "the file must hold keys with values", "such as training: with keys below it")


def several_documents() -> Mistake:
    """Says that more than one document stands in the file."""
    return Mistake("", "the file holds more than one YAML document", "remove what follows the ---")


def key_not_text() -> Mistake:
    """Says that a key is nothing, a list or a section."""
    return Mistake("", "a key is no text", "put it in quotes")


def twice(key: str, line: int) -> Mistake:
    """Says that a key stands twice in one section."""
    return Mistake(key, f"the key {key} stands twice, again in line {line}", "keep one of them")


def unknown_key(path: str, suggestion: str | None) -> Mistake:
    """Says that nobody knows a key, and which one was probably meant."""
    return Mistake(path, f"unknown key {path}", f"did you mean {suggestion}?" if suggestion else "remove it")


def wrong_value(path: str, given: str, wanted: str) -> Mistake:
    """Says that a value is not of its key's kind."""
    return Mistake(path, f"{given} is no value for {path}", f"give {wanted}")


def disagree(one: tuple[str, str], other: tuple[str, str]) -> Mistake:
    """Says that one thing stands in two spellings, with two values."""
    return Mistake(one[0], f"{one[0]} is {one[1]}, but {other[0]} is {other[1]}", "keep one of them")


def batch_too_large() -> Mistake:
    """Says that the batch of all ranks passes every bound."""
    hint = "give a smaller batch or fewer accumulation steps"
    return Mistake("training.per_device_train_batch_size", "The batch is too large", hint)
