#!/usr/bin/env python3
"""Trains a language model with JAX over all processes of the launch, from a training.yaml.
用 JAX 在本次启动的全部进程上训练语言模型，设置来自 training.yaml。

python scripts/run_distributed.py --mode manual --world-size 2
fermi run --nproc-per-node 2 scripts/train.py --config training.yaml

Without `--config` a tiny model trains on the text of the demo.
不指定 `--config` 时，用示例文本训练一个很小的模型。
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from fermi_train import environment  # noqa: E402
from fermi_train.arguments import Arguments  # noqa: E402
from fermi_train.libraries import OF_JAX, refusal_of  # noqa: E402
from fermi_train.messages import Refusal, Text  # noqa: E402

DEMO = (
    "model.name_or_path=preset:tiny",
    "model.max_length=64",
    f"data.train={ROOT / 'examples/llm-distributed-training-demo/data/sample.txt'}",
    "training.per_device_train_batch_size=4",
    "training.learning_rate=3e-3",
    "training.max_steps=50",
    "training.experiment_name=jax_demo",
)


def main() -> int:
    """Reads the settings and trains."""
    parser = Arguments(Text("用 JAX 训练语言模型。", "Train a language model with JAX."))
    parser.add_argument("--config", metavar="FILE", help="training.yaml")
    over = Text("覆盖文件中的一个键，可重复", "put a value over the file's (repeatable)")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help=str(over))
    flags = parser.parse_args()
    environment.prepare_imports()
    place = environment.place_here()
    try:
        from fermi_train.reading import read
        from fermi_train.recipes import jax_lm

        changes = (*(() if flags.config else DEMO), *flags.set)
        return jax_lm.train(read(flags.config, "sft", changes=changes), place)
    except Refusal as refusal:
        return _told(refusal, place)
    except ModuleNotFoundError as error:
        if (refusal := refusal_of(error, OF_JAX)) is None:
            raise
        return _told(refusal, place)


def _told(refusal: Refusal, place: environment.Place) -> int:
    # A path may be missing on one node alone: each says so, and the advice is given once there.
    print(refusal.shown() if place.local_rank == 0 else refusal.text, file=sys.stderr)
    return refusal.code


if __name__ == "__main__":
    try:
        code = main()
    except SystemExit:
        # Of the options: nothing of JAX runs yet.
        raise
    except BaseException:
        # JAX's own way out waits for the other processes, which wait for this one.
        traceback.print_exc()
        os._exit(1)
    if code != 0:
        # One process may be refused where the others train.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
