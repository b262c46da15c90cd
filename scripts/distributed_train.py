#!/usr/bin/env python3
"""Fine-tunes a language model over several ranks, by `fermi_train`.
用 `fermi_train` 以多个 rank 微调语言模型。

deepspeed scripts/distributed_train.py --deepspeed_config configs/deepspeed_config.json \
    --model_name facebook/opt-350m --batch_size 8 --gradient_accumulation_steps 4

Without `--data` it trains on a small text that lies beside the demo; `--model_name preset:opt-350m` has random weights and
downloads nothing.
不指定 `--data` 时用示例旁的一小段文本训练；`--model_name preset:opt-350m` 权重随机，无需下载。
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

ROOT = next(path for path in Path(__file__).resolve().parents if (path / "python/fermi_train").is_dir())
sys.path.insert(0, str(ROOT / "python"))

from fermi_train.arguments import Arguments  # noqa: E402
from fermi_train.command import main  # noqa: E402
from fermi_train.messages import Text  # noqa: E402

SAMPLE = ROOT / "examples/llm-distributed-training-demo/data/sample.txt"


def words() -> list[str]:
    """Turns the script's own names into keys of training.yaml."""
    about = Text("用多个进程微调语言模型。", "Fine-tune a language model over several ranks.")
    parser = Arguments(about)

    def option(name: str, about: Text, **more: Any) -> None:
        parser.add_argument(name, help=str(about), **more)

    option("--deepspeed_config", Text("DeepSpeed 的 JSON 配置", "DeepSpeed's configuration as JSON"), metavar="FILE")
    model = Text("Hugging Face 上的名称、本地目录或 preset:名称", "a name on Hugging Face, a folder, or preset:NAME")
    option("--model_name", model, metavar="NAME", default="facebook/opt-350m")
    option("--data", Text("训练数据：文件或数据集", "what it trains on: a file or a dataset"), metavar="FILE", default=str(SAMPLE))
    option("--batch_size", Text("每个 rank 一次的样本数", "samples of a rank in one pass"), metavar="N", type=int, default=8)
    accumulation = Text("累积多少次后更新一次参数", "passes before the parameters change")
    option("--gradient_accumulation_steps", accumulation, metavar="N", type=int, default=1)
    option("--max_steps", Text("训练多少步；默认用完全部数据", "steps to train; all of the data else"), metavar="N", type=int)
    option("--max_length", Text("样本的最大 token 数", "tokens that a sample has at most"), metavar="N", type=int, default=512)
    option("--learning_rate", Text("学习率", "the learning rate"), metavar="RATE", type=float)
    strategy = Text(
        "并行方式；默认 ddp，有 --deepspeed_config 时为 deepspeed",
        "how ranks share the work; ddp, or deepspeed with --deepspeed_config",
    )
    option("--strategy", strategy, choices=("ddp", "fsdp", "deepspeed"))
    where = Text("结果写入 outputs/ 下的这个目录", "results go into this folder of outputs/")
    option("--experiment_name", where, metavar="NAME", default="distributed_train")
    parser.add_argument("--local_rank", "--local-rank", help=argparse.SUPPRESS)
    flags, others = parser.parse_known_args()
    keys = {
        "model.name_or_path": flags.model_name,
        "model.max_length": flags.max_length,
        "data.train": flags.data,
        "training.distributed_strategy": flags.strategy or ("deepspeed" if flags.deepspeed_config else "ddp"),
        "training.deepspeed.config_path": flags.deepspeed_config,
        "training.per_device_train_batch_size": flags.batch_size,
        "training.gradient_accumulation_steps": flags.gradient_accumulation_steps,
        "training.max_steps": flags.max_steps,
        "training.learning_rate": flags.learning_rate,
        "training.experiment_name": flags.experiment_name,
    }
    changes = [word for key, value in keys.items() if value is not None for word in ("--set", f"{key}={value}")]
    return ["--algorithm", "sft", *changes, *others]


if __name__ == "__main__":
    sys.exit(main(words()))
