"""LoRA: small matrices beside frozen weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..keys import Keys, wrong
from ..messages import Refusal, Text

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Lora:
    """The section `lora` of the file."""

    rank: int
    alpha: int
    dropout: float
    targets: tuple[str, ...]

    @classmethod
    def of(cls, keys: Keys) -> Lora | None:
        """Takes the section; none where the file has none, or `enabled: false`."""
        given = [path for path in keys.left() if path.startswith("lora.")]
        if not given:
            if (whole := keys.take("lora")) is not None:
                raise wrong("lora", whole, Text("带有 r 等键的小节", "a section with keys such as r"))
            return None
        enabled = keys.flag("lora.enabled", True)
        rank = keys.count("lora.r", 8)
        lora = cls(
            rank,
            keys.count("lora.alpha", 2 * rank),
            keys.number("lora.dropout", 0.0, most=1.0),
            keys.words("lora.target_modules"),
        )
        return lora if enabled else None

    def peft_config(self, task: str) -> Any:
        """Gives peft's own configuration; without targets peft knows those of the architecture, else all linear."""
        from peft import LoraConfig

        targets = list(self.targets) or "all-linear"
        return LoraConfig(
            r=self.rank, lora_alpha=self.alpha, lora_dropout=self.dropout, target_modules=targets, task_type=task
        )

    def wrap(self, model: PreTrainedModel, task: str = "CAUSAL_LM") -> Any:
        """Freezes the model and puts the small matrices beside it."""
        from peft import get_peft_model

        try:
            return get_peft_model(model, self.peft_config(task))
        except ValueError as error:
            first = str(error).splitlines()[0]
            raise Refusal(
                Text(f"无法为模型添加 LoRA：{first}", f"LoRA does not fit the model: {first}"),
                Text(
                    "请检查 lora.target_modules；不填写则用于所有线性层",
                    "look at lora.target_modules; without it all linear layers are taken",
                ),
            ) from None
