#!/usr/bin/env python3
"""Trains or prepares data by `fermi_train`, under the name that people know.
用 `fermi_train` 训练或准备数据；脚本沿用大家熟悉的名字。

torchrun --nproc_per_node=4 main.py --mode train --config config_distributed_example.yaml --algorithm sft
deepspeed --num_gpus=4 main.py --config config_deepspeed_example.yaml --mode train --algorithm sft
python main.py --mode prepare --config config_distributed_example.yaml
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))

from fermi_train.command import main  # noqa: E402
from fermi_train.messages import Refusal, Text  # noqa: E402

ENGINE = "training.distributed_strategy=deepspeed"
OWN = Text(
    "main.py 还有：--mode train|prepare（默认 train）、--deepspeed_config 文件；其余参数如下。\n",
    "main.py has besides: --mode train|prepare (train else), --deepspeed_config FILE; all others are these.\n",
)


def words() -> list[str]:
    """Turns `--mode` and `--deepspeed_config` into the words of `fermi_train`; the rest is its own."""
    given, made, mode = iter(sys.argv[1:]), [], "train"
    for word in given:
        name, is_joined, value = word.partition("=")
        if name == "--mode":
            mode = value if is_joined else next(given, "")
        elif name == "--deepspeed_config":
            path = value if is_joined else next(given, "")
            made += ["--set", f"training.deepspeed.config_path={path}", "--set", ENGINE]
        elif name != "--deepspeed":
            if word in ("-h", "--help"):
                print(OWN)
            made.append(word)
    if mode not in ("train", "prepare"):
        raise Refusal(
            Text(f"没有模式 “{mode}”", f"there is no mode {mode!r}"),
            Text("请使用 --mode train 或 --mode prepare", "give --mode train or --mode prepare"),
        )
    return ["prepare", *made] if mode == "prepare" else made


if __name__ == "__main__":
    try:
        given = words()
    except Refusal as refusal:
        print(refusal.shown(), file=sys.stderr)
        sys.exit(refusal.code)
    sys.exit(main(given, prog="main.py --mode prepare" if given[:1] == ["prepare"] else "main.py"))
