"""The file's keys, each taken by what obeys it: what is left at the end is refused by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from .messages import Refusal, Text

# Sections whose keys `fermi_training` hands on as they are.
FREE = ("data", "lora")


class Keys:
    """All values of a file by their path. A key counts as obeyed once it was taken."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        """Flattens the free sections, so that each of their keys has a path of its own."""
        self._values: dict[str, Any] = {}
        for path, value in values.items():
            if path in FREE and isinstance(value, Mapping):
                self._values.update({f"{path}.{name}": below for name, below in value.items()})
            else:
                self._values[path] = value
        self._taken: set[str] = set()
        self._asked: set[str] = set()

    def take(self, path: str, usual: Any = None) -> Any:
        """Gives the value of a key, or the usual one, and counts the key as obeyed."""
        self._asked.add(path)
        self._taken.add(path)
        value = self._values.get(path)
        return usual if value is None else value

    def count(self, path: str, usual: int, least: int = 1, most: int | None = None) -> int:
        """Takes a whole number within bounds."""
        value = self.take(path, usual)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise wrong(path, value, Text(f"至少为 {least} 的整数", f"a whole number of at least {least}"))
        if most is not None:
            check_most(path, value, most)
        return value

    def number(self, path: str, usual: float, least: float = 0.0, most: float = float("inf")) -> float:
        """Takes a number within bounds."""
        value = self.take(path, usual)
        try:
            number = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not least <= number <= most:
            upper = "" if most == float("inf") else f" – {most:g}"
            raise wrong(path, value, Text(f"数字（{least:g}{upper} 起）", f"a number from {least:g}{upper}"))
        return number

    def flag(self, path: str, usual: bool) -> bool:
        """Takes true or false."""
        value = self.take(path, usual)
        if not isinstance(value, bool):
            raise wrong(path, value, Text("true 或 false", "true or false"))
        return value

    def word(self, path: str, usual: str | None = None, among: Iterable[str] = ()) -> str | None:
        """Takes a text, one of a few where they are named."""
        value, words = self.take(path, usual), tuple(among)
        if value is not None and (not isinstance(value, str) or (words and value not in words)):
            one = ", ".join(words)
            raise wrong(path, value, Text(f"以下之一：{one}", f"one of {one}") if words else Text("文本", "a text"))
        return value

    def words(self, path: str, usual: Iterable[str] = ()) -> tuple[str, ...]:
        """Takes a text or a list of texts."""
        value = self.take(path, list(usual))
        given = [value] if isinstance(value, str) else value
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            raise wrong(path, value, Text("文本或文本列表", "a text or a list of texts"))
        return tuple(given)

    def left(self) -> list[str]:
        """Lists the keys that the file has and that nothing has taken."""
        return sorted(path for path, value in self._values.items() if value is not None and path not in self._taken)

    def refuse_left(self, recipe: str, strategy: str) -> None:
        """Refuses what no part of this run obeys, all keys at once."""
        if not (left := self.left()):
            return
        hints = [
            near[0] for path in left if (near := difflib.get_close_matches(path, self._asked - set(left), 1, 0.85))
        ]
        names_zh, names = "、".join(left), ", ".join(left)
        also_zh = f"；是否想写 {'、'.join(hints)}？" if hints else ""
        also = f"; did you mean {', '.join(hints)}?" if hints else ""
        raise Refusal(
            Text(
                f"training.yaml 中的 {names_zh} 对算法 {recipe}（策略 {strategy}）不起作用",
                f"{names} of training.yaml would have no effect with algorithm {recipe} and strategy {strategy}",
            ),
            Text(
                f"请删除这些键，或更换算法、策略{also_zh}", f"remove them, or take another algorithm or strategy{also}"
            ),
        )


def check_most(path: str, value: int, most: int) -> None:
    """Refuses a whole number above what its key takes."""
    if value > most:
        raise wrong(path, value, Text(f"至多为 {most} 的整数", f"a whole number of at most {most}"))


def wrong(path: str, value: Any, wanted: Text) -> Refusal:
    """Says that a value is not what its key takes."""
    return Refusal(
        Text(f"“{value}” 不能作为 {path} 的值", f"{value!r} is no value for {path}"),
        Text(f"请提供{wanted.zh}", f"give {wanted.en}"),
    )
