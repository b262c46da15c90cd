"""Where fermi is, and in which language to speak: what the scripts beside this file share."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def say(zh: str, en: str) -> str:
    """Chooses by FERMI_LANG, else by the locale, as fermi does; English where none is set."""
    names = ("FERMI_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return zh if locale[:2].lower() == "zh" else en


def program() -> str:
    """Finds fermi: FERMI_BIN, what `make build` made beside these scripts, the PATH."""
    named = os.environ.get("FERMI_BIN")
    if named:
        found = shutil.which(named)
        if found is None:
            refuse(
                say(f"FERMI_BIN 指定的 {named} 不是程序", f"{named}, which FERMI_BIN names, is no program"),
                say("改正 FERMI_BIN，或取消它：unset FERMI_BIN", "correct FERMI_BIN, or remove it: unset FERMI_BIN"),
            )
        return found
    built = ROOT / "target" / "release" / "fermi"
    found = str(built) if os.access(built, os.X_OK) else shutil.which("fermi")
    if found is None:
        refuse(
            say("找不到 fermi", "there is no fermi"),
            say(
                f"在 {ROOT} 执行 make build，或把 fermi 放进 PATH，或用 FERMI_BIN 指定",
                f"run make build in {ROOT}, put fermi on the PATH, or name it in FERMI_BIN",
            ),
        )
    return found


def refuse(what: str, hint: str) -> None:
    """Says what is wrong as fermi does, and ends with its code for usage."""
    zh = say("错误：", "error: "), say("提示：", "hint: ")
    print(f"{zh[0]}{what}\n\n{zh[1]}{hint}", file=sys.stderr)
    sys.exit(2)


def become(*words: str) -> None:
    """Becomes `fermi` with these words."""
    os.execv(program(), ["fermi", *words])
