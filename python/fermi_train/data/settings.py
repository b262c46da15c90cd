"""The section `data` of the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import environment
from ..keys import Keys
from ..messages import Refusal, Text
from .formats import OF_ALGORITHM


@dataclass(frozen=True)
class LoaderSettings:
    """How samples are loaded."""

    workers: int = 0
    pin_memory: bool = False
    prefetch: int | None = None


@dataclass(frozen=True)
class Data:
    """Which data is trained on."""

    train: tuple[str, ...]
    evaluation: tuple[str, ...]
    format: str | None
    eval_share: float
    skip_bad: bool
    cache: Path

    @classmethod
    def of(cls, keys: Keys, algorithm: str) -> Data:
        """Takes the section; the dataset that a task chose wins over the file's."""
        named = keys.words("data.train")
        train = tuple(filter(None, [environment.dataset_path()])) or named
        if not train:
            raise Refusal(
                Text("没有训练数据", "there is no data to train on"),
                Text(
                    "请在 training.yaml 中填写 data: {train: data.jsonl}，或为任务选择数据集",
                    "give data: {train: data.jsonl} in training.yaml, or choose a dataset for the task",
                ),
            )
        return cls(
            train,
            keys.words("data.eval"),
            keys.word("data.format", None, OF_ALGORITHM[algorithm]),
            keys.number("data.eval_share", 0.0, most=0.9),
            keys.flag("data.skip_bad", False),
            Path(keys.word("data.cache") or "outputs/prepared"),
        )
