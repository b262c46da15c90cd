"""Sentences for people, in Chinese and English."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """One sentence in both languages."""

    zh: str
    en: str

    def __str__(self) -> str:
        """Gives the sentence in the language of this place."""
        return self.zh if speaks_chinese() else self.en


def speaks_chinese() -> bool:
    """Follows FERMI_LANG, then the locale, as `fermi` does."""
    for name in ("FERMI_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return value.lower().startswith("zh")
    return False


class Refusal(Exception):
    """Something that a person has to change: what is wrong, and what to do about it. Ends with exit code 2."""

    code = 2

    def __init__(self, text: Text, hint: Text) -> None:
        """Keeps both sentences."""
        super().__init__(str(text))
        self.text = text
        self.hint = hint

    def shown(self) -> str:
        """Gives both as they stand on a terminal."""
        error, hint = ("错误：", "提示：") if speaks_chinese() else ("error: ", "hint: ")
        return f"{error}{self.text}\n\n{hint}{self.hint}"


class Failure(Refusal):
    """Something that was right and went wrong: a disk is full. Ends with exit code 1."""

    code = 1
