"""The command line's own words, in both languages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fermi_train.arguments import Arguments
from fermi_train.messages import Text

PYTHON = Path(__file__).parents[2]


def _parser() -> Arguments:
    parser = Arguments(Text("训练。", "Trains."), prog="it")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--format", choices=("text", "chat"))
    return parser


@pytest.mark.parametrize(
    ("words", "zh", "en"),
    [
        ([], "缺少参数：FILE", "the following arguments are required: FILE"),
        (["x", "--ranks", "two"], "--ranks 应为整数，而不是 'two'", "invalid int value: 'two'"),
        (["x", "--ranks"], "--ranks 需要一个值", "expected one argument"),
        (["x", "--format", "csv"], "--format 不能是 'csv'，应为 'text', 'chat' 之一", "invalid choice: 'csv'"),
        (["x", "--nonsense"], "没有参数 --nonsense", "unrecognized arguments: --nonsense"),
    ],
)
@pytest.mark.parametrize("language", ["zh_CN.UTF-8", "en"])
def test_what_is_wrong_is_said_in_the_language_of_the_place(words, zh, en, language, monkeypatch, capsys):
    """A mistake ends with code 2, a sentence and where help is."""
    monkeypatch.setenv("FERMI_LANG", language)
    with pytest.raises(SystemExit) as left:
        _parser().parse_args(words)
    said = capsys.readouterr().err
    assert left.value.code == 2
    assert (zh if language.startswith("zh") else en) in said
    assert said.endswith("it --help\n")


def test_help_has_no_english_word_of_its_own_in_chinese(monkeypatch):
    """Usage, headings and the option for help itself."""
    monkeypatch.setenv("FERMI_LANG", "zh")
    shown = _parser().format_help()
    assert shown.startswith("用法：it")
    assert not any(word in shown for word in ("usage", "options", "positional", "show this"))


def test_help_and_mistakes_of_prepare_need_no_library():
    """Without site-packages there is none."""

    def said(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-S", "-m", "fermi_train", "prepare", *words]
        return subprocess.run(
            command, cwd=PYTHON, env={"FERMI_LANG": "en"}, capture_output=True, text=True, check=False
        )

    page = said("--help")
    assert (page.returncode, page.stderr) == (0, "") and "--max-length" in page.stdout
    nothing = said()
    assert nothing.returncode == 2 and "give data files, or --config" in nothing.stderr
