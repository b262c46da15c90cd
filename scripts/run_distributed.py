#!/usr/bin/env python3
"""Starts a distributed training: all arguments are those of `fermi run`, in either spelling.
启动分布式训练：参数与 `fermi run` 相同，两种写法均可。

python scripts/run_distributed.py --nproc_per_node 4 train.py --lr 3e-4
python scripts/run_distributed.py --mode manual --world-size 4 train.py
python scripts/run_distributed.py --mode create_slurm --num-nodes 2 train.py

Where no script is named it is main.py of this folder, else scripts/train.py, which trains without settings too: it is also
taken where main.py is Fermi's own and would find none. --config, --algorithm and what fermi run does not know are the
script's, wherever they stand; a --config that is there decides fermi's strategy too.
不指定脚本时运行当前目录的 main.py，否则 scripts/train.py；后者没有设置也能训练，所以 main.py 是 Fermi 自带的而又没有设置时也用它。
--config、--algorithm 以及 fermi run 没有的参数都传给脚本，先后不限；--config 指定的文件存在时，其中的策略也由 fermi 执行。
"""

from __future__ import annotations

import os
import sys

from _fermi import become

# The launcher's options with a value, and its switches, as people write them for torchrun and this script.
TAKING = {
    "nproc-per-node", "num-gpus", "nnodes", "num-nodes", "node-rank", "master-addr", "master-port", "max-restarts", "mode",
    "rank", "world-size", "gpus-per-node", "rdzv-id", "rdzv-endpoint", "rdzv-backend", "rdzv-conf", "log-dir", "tee",
    "redirects", "role", "join-timeout", "start-timeout", "framework", "set", "backend", "n", "x",
}  # fmt: skip
SWITCHES = {"use-torchrun", "standalone", "dry-run", "json", "quiet", "legacy-launch", "resume", "q"}
NO_SCRIPT = ("-m", "--module", "--no-python", "--no_python", "-h", "--help")
SCRIPTS = ("main.py", "scripts/train.py")
# Ways to start that do not make an engine's files.
WITHOUT_ENGINE = {"create_slurm", "create-slurm"}


def parted(words: list[str]) -> tuple[list[str], list[str]]:
    """Parts the launcher's own words from the script's, wherever they stand."""
    own: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        name = word.split("=")[0].lstrip("-").replace("_", "-") if word.startswith("-") else ""
        if name in SWITCHES:
            own.append(word)
        elif name in TAKING:
            own.append(word)
            value = None if "=" in word else next(rest, None)
            own.extend([] if value is None else [value])
        else:
            others.append(word)
    return own, others


def value_of(words: list[str], name: str) -> str | None:
    """Reads the value of an option in either form."""
    for at, word in enumerate(words):
        if word.startswith(f"{name}="):
            return word.split("=", 1)[1]
        if word == name and at + 1 < len(words):
            return words[at + 1]
    return None


def has_no_settings(others: list[str]) -> bool:
    """Says whether main.py is the one that trains by settings, and there are none: neither in words nor in this folder."""
    if others or os.path.exists("training.yaml"):
        return False
    with open("main.py", encoding="utf-8", errors="replace") as file:
        return "from fermi_train" in file.read()


def chosen(others: list[str]) -> str:
    """Chooses the script of this folder."""
    there = [path for path in SCRIPTS if os.path.exists(path)] or ["main.py"]
    return there[-1] if len(there) > 1 and has_no_settings(others) else there[0]


def main() -> None:
    words = sys.argv[1:]
    if not any(word.endswith(".py") or word in NO_SCRIPT for word in words):
        own, others = parted(words)
        script = chosen(others)
        mode = ["--mode", "train"] if script == "main.py" else []
        config = value_of(others, "--config")
        elsewhere = "--use_torchrun" in own or "--use-torchrun" in own or value_of(own, "--mode") in WITHOUT_ENGINE
        engine = ["--config", config] if config and os.path.exists(config) and not elsewhere else []
        words = [*own, *engine, script, *mode, *others]
    become("run", *words)


if __name__ == "__main__":
    main()
