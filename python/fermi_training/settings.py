"""The file's meaning, ready to be printed and to be trained by."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from .batch import Batch
from .keys import known
from .value import Value, in_digits


@dataclass(frozen=True)
class Settings:
    """What a file means for a number of ranks.

    `strategy` is `single`, `ddp`, `deepspeed` or `fsdp`, with the ZeRO `stage` where DeepSpeed has one and the `reason`
    where the file said `auto`. `precision` is `fp32`, `fp16` or `bf16`, `backend` is `nccl` or `gloo`, `learning_rate`
    is scaled where the file asks for it. `deepspeed_config` is the path of DeepSpeed's own JSON. `warnings` are
    sentences for people. `values` has all that the file says, each under its key's first spelling.
    """

    strategy: str
    stage: int | None
    reason: str | None
    batch: Batch
    precision: str
    learning_rate: float | None
    backend: str
    deepspeed_config: str | None
    warnings: list[str]
    values: dict[str, Value]

    def get(self, path: str, default: Any = None) -> Any:
        """Gives the value of a key by its path, in any of its spellings; a key that nobody knows is a `KeyError`."""
        first = known().first_spelling(path)
        if first is None:
            raise KeyError(f"training.yaml has no key {path}")
        return self.values.get(first, default)

    def lines(self) -> list[str]:
        """Says what people shall see before anything starts."""
        strategy = f"strategy {self._name()}"
        lines = [f"{strategy}: {self.reason}" if self.reason else strategy, self.batch.text()]
        lines.append(f"precision {self.precision}, backend {self.backend}")
        if self.learning_rate is not None:
            lines.append(f"learning rate {in_digits(self.learning_rate)}")
        return lines + [f"warning: {warning}" for warning in self.warnings]

    def describe(self) -> str:
        """Gives these lines as one text, to be printed."""
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Gives everything as plain values, ready for JSON."""
        batch = self.batch
        return {
            "strategy": self.strategy,
            "stage": self.stage,
            "reason": self.reason,
            "batch": {
                "micro": batch.micro,
                "accumulation": batch.accumulation,
                "data_parallel": batch.data_parallel,
                "effective": batch.effective,
            },
            "precision": self.precision,
            "learning_rate": self.learning_rate,
            "backend": self.backend,
            "deepspeed_config": self.deepspeed_config,
            "warnings": list(self.warnings),
            "values": copy.deepcopy(self.values),
        }

    def _name(self) -> str:
        if self.strategy == "deepspeed":
            return "DeepSpeed" if self.stage is None else f"DeepSpeed ZeRO-{self.stage}"
        return {"single": "single process", "ddp": "DDP", "fsdp": "FSDP"}[self.strategy]
