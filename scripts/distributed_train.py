#!/usr/bin/env python3
"""Fine-tunes a language model over several ranks, by `fermi_train`.

deepspeed scripts/distributed_train.py --deepspeed_config configs/deepspeed_config.json \
    --model_name facebook/opt-350m --batch_size 8 --gradient_accumulation_steps 4

Without `--data` it trains on a small text that lies beside the demo; `--model_name preset:opt-350m` has random weights and
downloads nothing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

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
    parser.add_argument("--deepspeed_config", metavar="FILE")
    parser.add_argument("--model_name", default="facebook/opt-350m")
    parser.add_argument("--data", default=str(SAMPLE))
    parser.add_argument("--batch_size", type=int, default=8, help=str(Text("每个 rank 一次的样本数", "samples of a rank in one pass")))
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--max_steps", type=int)
    parser.add_argument("--max_length", type=int, default=512)
    parser.add_argument("--learning_rate", type=float)
    parser.add_argument("--strategy", choices=("ddp", "fsdp", "deepspeed"))
    parser.add_argument("--experiment_name", default="distributed_train")
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
