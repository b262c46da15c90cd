"""What the examples say to people, in their language: FERMI_LANG, else the locale."""

import argparse
import os

LOCALE = next((os.environ[n] for n in ("FERMI_LANG", "LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(n)), "")


def say(zh: str, en: str) -> str:
    return zh if LOCALE[:2].lower() == "zh" else en


class Arguments(argparse.ArgumentParser):
    """Options whose page of help is in one language as a whole."""

    def __init__(self, about: str, **others) -> None:
        super().__init__(description=about, add_help=False, **others)
        self._optionals.title = say("选项", "options")
        self.add_argument("-h", "--help", action="help", help=say("显示这段帮助并退出", "show this help and leave"))

    def format_help(self) -> str:
        return super().format_help().replace("usage: ", say("用法：", "usage: "), 1)


CRASH = say("第一次启动到这一步时，最后一个 rank 像被 kill -9 一样消失", "the last rank dies, as by kill -9, at this step in the first attempt")
STEPS = say("训练多少步", "steps to train")
SAVE_EVERY = say("每多少步保存一个检查点", "steps between checkpoints")


def resumed(rank: int, step: int, name: str = "") -> str:
    """Said by each rank that goes on from a checkpoint."""
    source = say(f"（{name}）", f" from {name}") if name else ""
    return say(f"[Rank {rank}] 从第 {step} 步继续{source}", f"[Rank {rank}] resumes at step {step}{source}")
