"""The section `data` of the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import environment
from ..keys import Keys
from ..messages import Refusal, Text
from .formats import OF_ALGORITHM

# More than this share set aside leaves nothing to train on.
MOST_ASIDE = 0.9


@dataclass(frozen=True)
class LoaderSettings:
    """How samples are loaded."""

    workers: int = 0
    pin_memory: bool = False
    prefetch: int | None = None


@dataclass(frozen=True)
class Data:
    """Which data is trained on."""

    train: tuple[str, ...] = ()
    evaluation: tuple[str, ...] = ()
    format: str | None = None
    eval_share: float = 0.0
    skip_bad: bool = False
    cache: Path = Path("outputs/prepared")

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
            keys.number("data.eval_share", cls.eval_share, most=MOST_ASIDE),
            keys.flag("data.skip_bad", cls.skip_bad),
            Path(keys.word("data.cache") or cls.cache),
        )
