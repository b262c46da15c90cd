"""What a file means for a number of ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping

from . import mistakes, scalars
from .batch import Batch
from .facts import Facts
from .mistakes import Mistake, TrainingYamlError
from .sentence import Sentence
from .settings import Settings
from .value import Value, is_count

_BILLION = 1_000_000_000
_LARGEST_STAGE = 255
# Samples of a rank and passes before an update, where DeepSpeed trains and nobody says.
_USUAL_DEEPSPEED_BATCH = (4, 8)


def resolve(values: dict[str, Value], facts: Facts) -> Settings:
    """Decides what the file leaves open; raises all mistakes at once."""
    return _Resolving(values, facts).settings()


class _Resolving:
    def __init__(self, values: dict[str, Value], facts: Facts) -> None:
        self.values = values
        self.facts = facts
        self.warnings: list[str] = []
        self.mistakes: list[Mistake] = []

    def settings(self) -> Settings:
        precision = self.precision()
        strategy, stage, reason = self.strategy()
        usual = self.is_usual_deepspeed(strategy)
        # A process that trains alone has its batch to itself.
        ranks = 1 if strategy == "single" else max(self.facts.ranks, 1)
        batch = self.batch(_USUAL_DEEPSPEED_BATCH if usual else (1, 1), ranks)
        precision = precision or ("fp16" if usual and self.facts.gpus else "fp32")
        if batch is None:
            self.mistakes.append(mistakes.batch_too_large())
        if batch is None or self.mistakes:
            raise TrainingYamlError(self.mistakes)
        backend = self.backend()
        rate, path = self.learning_rate(), self.word("training.deepspeed.config_path")
        return Settings(strategy, stage, reason, batch, precision, rate, backend, path, self.warnings, self.values)

    def is_usual_deepspeed(self, strategy: str) -> bool:
        """Says whether DeepSpeed trains without a JSON of its own, so that what it usually gets holds."""
        named = self.word("training.deepspeed.config_path") is not None
        return strategy == "deepspeed" and not named and self.facts.deepspeed is None

    def batch(self, usual: tuple[int, int], ranks: int) -> Batch | None:
        """Takes the file's sizes, else those of DeepSpeed's JSON, else the usual ones."""

        def size(path: str, of_deepspeed: str) -> int | None:
            own = self.count(path)
            return own if own is not None else self.in_deepspeed_count(of_deepspeed) or None

        micro = size("training.per_device_train_batch_size", "train_micro_batch_size_per_gpu")
        accumulation = size("training.gradient_accumulation_steps", "gradient_accumulation_steps")
        # Of three numbers the whole holds for one number of ranks only; of fewer it holds where it can be shared out.
        whole = self.in_deepspeed_count("train_batch_size")
        parts = (micro or 1) * (accumulation or 1) * ranks
        if whole and (micro is None or accumulation is None) and whole % parts == 0:
            share = whole // parts
            if micro is None:
                micro, accumulation = share, accumulation or 1
            else:
                accumulation = share
        if accumulation is None:
            accumulation = usual[1] if micro is None else 1
        micro = usual[0] if micro is None else micro
        return Batch.of(micro, accumulation, ranks)

    def precision(self) -> str | None:
        """Takes bf16 where both flags are true; `mixed_precision` against a flag is a mistake.

        Gives none where neither this file nor DeepSpeed's says anything.
        """
        flags = {name: self.flag(f"training.{name}") for name in ("fp16", "bf16")}
        mixed = self.word("training.mixed_precision")
        mixed = "fp32" if mixed == "no" else mixed
        if flags["fp16"] and flags["bf16"]:
            self.warn("fp16 与 bf16 同时为 true：使用 bf16", "fp16 and bf16 are both true: bf16")
        if "training.fp16_opt_level" in self.values:
            self.warn(
                "fp16_opt_level 属于 Apex，PyTorch 自带的混合精度不使用它",
                "fp16_opt_level is Apex's; torch's own mixed precision does not use it",
            )
        for name, flag in flags.items():
            if mixed is not None and flag is not None and flag != (mixed == name):
                one = ("training.mixed_precision", mixed)
                self.mistakes.append(mistakes.disagree(one, (f"training.{name}", "true" if flag else "false")))
        if mixed is not None:
            wanted = mixed
        elif flags["bf16"] or flags["fp16"]:
            wanted = "bf16" if flags["bf16"] else "fp16"
        elif flags["fp16"] is None and flags["bf16"] is None:
            wanted = self.deepspeed_precision()
        else:
            wanted = "fp32"
        if wanted == "fp16" and not self.facts.gpus:
            self.warn("没有 GPU：fp16 改为 fp32", "there are no GPUs: fp32 instead of fp16")
            return "fp32"
        return wanted

    def deepspeed_precision(self) -> str | None:
        """Gives the number format that DeepSpeed's file turns on; none without a file."""
        for name in ("bf16", "fp16"):
            if _below(self.in_deepspeed(name), "enabled") is True:
                return name
        return None if self.facts.deepspeed is None else "fp32"

    def strategy(self) -> tuple[str, int | None, str | None]:
        """Gives the strategy with its stage and with the reason for it."""
        if self.flag("training.distributed") is False:
            if self.facts.ranks > 1:
                self.warn(
                    "distributed 为 false，但启动了多个 rank：各自训练",
                    "distributed is false, but several ranks are started: each trains alone",
                )
            return "single", None, None
        match self.word("training.distributed_strategy"):
            case "deepspeed":
                return "deepspeed", self.stage(2), None
            case "fsdp":
                return "fsdp", None, None
            case "auto":
                return self.by_size()
            case _:
                return "ddp", None, None

    def stage(self, usual: int) -> int | None:
        """Takes the file's own stage, else that of DeepSpeed's JSON, else the usual one where there is none."""
        path = self.word("training.deepspeed.config_path")
        if path is not None and self.facts.deepspeed is None:
            self.warn(
                f"{path} 未读取：其中的批次与精度未计入",
                f"{path} was not read: its batch and precision are not counted in",
            )
        stage = self.count("training.deepspeed.zero_stage")
        if stage is None:
            stage = _count(_below(self.in_deepspeed("zero_optimization"), "stage"))
        if stage is not None and stage <= _LARGEST_STAGE:
            return stage
        return usual if path is None else None

    def by_size(self) -> tuple[str, int | None, str | None]:
        """Takes DDP below 1B, ZeRO-2 up to 7B, ZeRO-3 above; a boundary belongs to the middle row."""
        size = _parameters(self.values.get("model.parameters"))
        size = self.facts.model_parameters if size is None else size
        if size is None:
            self.warn(
                "模型大小未知，auto 使用 DDP；可填写 model.parameters，例如 7B",
                "the model's size is not known, so auto is DDP; give model.parameters, such as 7B",
            )
            return "ddp", None, None
        if size < _BILLION:
            return "ddp", None, "fewer than 1B parameters"
        if size <= 7 * _BILLION:
            return "deepspeed", self.stage(2), "1B to 7B parameters"
        return "deepspeed", self.stage(3), "more than 7B parameters"

    def backend(self) -> str:
        """Takes nccl on GPUs and gloo without."""
        given = self.word("training.distributed_backend")
        if given == "gloo" or (given is None and not self.facts.gpus):
            return "gloo"
        if self.facts.gpus:
            return "nccl"
        self.warn("没有 GPU：nccl 改为 gloo", "there are no GPUs: gloo instead of nccl")
        return "gloo"

    def learning_rate(self) -> float | None:
        """Scales the rate with the ranks, where the file asks for it."""
        rate = self.values.get("training.learning_rate")
        if not isinstance(rate, float):
            return None
        ranks = float(max(self.facts.ranks, 1))
        match self.word("training.lr_scaling"):
            case "linear":
                return rate * ranks
            case "sqrt":
                return rate * math.sqrt(ranks)
            case _:
                return rate

    def warn(self, zh: str, en: str) -> None:
        self.warnings.append(Sentence(zh, en))

    def in_deepspeed(self, key: str) -> Value:
        return None if self.facts.deepspeed is None else self.facts.deepspeed.get(key)

    def in_deepspeed_count(self, key: str) -> int | None:
        return _count(self.in_deepspeed(key))

    def count(self, path: str) -> int | None:
        value = self.values.get(path)
        return value if isinstance(value, int) else None

    def flag(self, path: str) -> bool | None:
        value = self.values.get(path)
        return value if isinstance(value, bool) else None

    def word(self, path: str) -> str | None:
        value = self.values.get(path)
        return value if isinstance(value, str) else None


def _count(value: Value) -> int | None:
    return value if isinstance(value, int) and is_count(value) and value < 1 << 64 else None


def _below(section: Value, key: str) -> Value:
    return section.get(key) if isinstance(section, Mapping) else None


def _parameters(value: Value) -> int | None:
    """Reads 7B, 350M, 7e9 or a plain number."""
    if isinstance(value, str):
        text = value.strip()
        factor = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}.get(text[-1:].lower())
        number = scalars.parse(text[:-1].strip() if factor else text)
        number = number if number is None else number * (factor or 1.0)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
    else:
        return None
    return int(f"{number:.0f}") if number is not None and 1.0 <= number < 9e15 else None
