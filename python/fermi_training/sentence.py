"""A sentence that is English wherever a text is wanted, and has its Chinese one with it."""

from __future__ import annotations


class Sentence(str):
    """An English text; `zh` is the Chinese one, for who shows it to people."""

    zh: str

    def __new__(cls, zh: str, en: str) -> Sentence:
        """Keeps both."""
        made = super().__new__(cls, en)
        made.zh = zh
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Lets the sentence cross to another process."""
        return self.zh, str(self)


def in_chinese(text: str) -> str:
    """Gives the Chinese text where there is one."""
    return text.zh if isinstance(text, Sentence) else text
