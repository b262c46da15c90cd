"""A command line whose own words, too, are in the language of this place."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from .messages import Text, speaks_chinese

# What argparse says, with what differs in it.
_MISTAKES = (
    (r"the following arguments are required: (.+)", r"缺少参数：\1"),
    (r"unrecognized arguments: (.+)", r"没有参数 \1"),
    (r"argument (.+): expected one argument", r"\1 需要一个值"),
    (r"argument (.+): invalid choice: (.+) \(choose from (.+)\)", r"\1 不能是 \2，应为 \3 之一"),
    (r"argument (.+): invalid int value: (.+)", r"\1 应为整数，而不是 \2"),
    (r"argument (.+): invalid float value: (.+)", r"\1 应为数字，而不是 \2"),
    (r"ambiguous option: (.+) could match (.+)", r"\1 可能是 \2，请写全"),
)


class _Formatter(argparse.HelpFormatter):
    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[Any],
        prefix: str | None = None,
    ) -> None:
        """Begins the line of usage."""
        super().add_usage(usage, actions, groups, str(Text("用法：", "usage: ")) if prefix is None else prefix)


class Arguments(argparse.ArgumentParser):
    """A parser that speaks Chinese where people do."""

    def __init__(self, about: Text, prog: str | None = None) -> None:
        """Takes what the program does, in both languages."""
        super().__init__(prog=prog, description=str(about), formatter_class=_Formatter, add_help=False)
        self._positionals.title = str(Text("参数", "arguments"))
        self._optionals.title = str(Text("选项", "options"))
        shown = Text("显示这段帮助并退出", "show this help and leave")
        self.add_argument("-h", "--help", action="help", help=str(shown))

    def error(self, message: str) -> NoReturn:
        """Says what is wrong with a command line, and where help is."""
        for known, words in _MISTAKES if speaks_chinese() else ():
            if found := re.fullmatch(known, message):
                message = found.expand(words)
                break
        wrong, hint = Text("错误：", "error: "), Text("提示：", "hint: ")
        self.exit(2, f"{wrong}{message}\n\n{hint}{self.prog} --help\n")
