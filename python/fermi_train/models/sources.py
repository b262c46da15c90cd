"""Loads a model and its tokenizer from a folder, from the hub, or from a shape alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..messages import Refusal, Text
from .bytes_tokenizer import bytes_tokenizer
from .presets import PRESETS, preset

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

_PRESET, _CONFIG = "preset:", "config:"


@dataclass(frozen=True)
class Source:
    """Where a model comes from.

    `preset:NAME` and `config:FOLDER` have random weights, drawn from the seed; anything else is a folder with weights or
    a name on the hub.
    """

    name: str

    @property
    def is_random(self) -> bool:
        """Says whether there are no weights to load."""
        return self.name.startswith((_PRESET, _CONFIG))

    def check_there(self) -> None:
        """Refuses a preset that there is none of, and a folder that is not here; asks no library."""
        if self.name.startswith(_PRESET):
            self._preset()
            return
        folder = self.name.removeprefix(_CONFIG)
        # Others may be names on the hub.
        if folder.startswith(("/", "./", "../", "~")) and not Path(folder).is_dir():
            raise Refusal(
                Text(f"没有模型文件夹 {folder}", f"there is no folder {folder} with a model"),
                Text(
                    "请检查 model.name_or_path；路径须在所有节点上都能访问",
                    "look at model.name_or_path; every node must find it there",
                ),
            )

    def config(self) -> PretrainedConfig:
        """Gives the model's shape."""
        from transformers import AutoConfig

        if self.name.startswith(_PRESET):
            return preset(self._preset())
        try:
            return AutoConfig.from_pretrained(self.name.removeprefix(_CONFIG))
        except (OSError, ValueError) as error:
            raise self._not_there(error) from None

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Gives the tokenizer; a preset and a shape without one have that of bytes."""
        from transformers import AutoTokenizer

        if self.name.startswith(_PRESET):
            self._preset()
            return bytes_tokenizer()
        folder = self.name.removeprefix(_CONFIG)
        if self.is_random and not (Path(folder) / "tokenizer_config.json").exists():
            return bytes_tokenizer()
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder)
        except (OSError, ValueError) as error:
            raise self._not_there(error) from None
        if tokenizer.pad_token is None:
            # A token that no text has: were it the end token, ends would be masked away and never learned.
            tokenizer.pad_token = tokenizer.unk_token or tokenizer.eos_token
        return tokenizer

    def parameters(self) -> int:
        """Counts the parameters without making any."""
        import torch
        from transformers import AutoModelForCausalLM

        with torch.device("meta"):
            return sum(p.numel() for p in AutoModelForCausalLM.from_config(self.config()).parameters())

    def load(self, kind: Any, seed: int, **more: Any) -> PreTrainedModel:
        """Loads the model as `kind`, one of transformers' Auto classes; weights are fp32, the same on all ranks."""
        import torch
        from safetensors import SafetensorError

        torch.manual_seed(seed)
        if self.is_random:
            config = self.config()
            for name, value in more.items():
                setattr(config, name, value)
            return kind.from_config(config, dtype=torch.float32)
        try:
            return kind.from_pretrained(self.name, dtype=torch.float32, **more)
        except (OSError, ValueError, SafetensorError) as error:
            raise self._not_there(error) from None

    def _preset(self) -> str:
        name = self.name.removeprefix(_PRESET)
        if name not in PRESETS:
            names = ", ".join(PRESETS)
            raise Refusal(
                Text(f"没有名为 “{name}” 的预设模型", f"there is no preset {name!r}"),
                Text(f"请使用以下之一：{names}", f"give one of {names}"),
            )
        return name

    def _not_there(self, error: Exception) -> Refusal:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return Refusal(
            Text(f"无法加载模型 “{self.name}”：{first}", f"cannot load the model {self.name!r}: {first}"),
            Text(
                "请在 model.name_or_path 中填写本地文件夹、Hub 上的名称，或 preset:tiny 等预设（随机权重）",
                "model.name_or_path takes a local folder, a name on the hub, or a preset such as preset:tiny (random)",
            ),
        )


def check_vocabulary(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuses a tokenizer with tokens that the model has no row for."""
    embeddings: Any = model.get_input_embeddings()
    rows, tokens = embeddings.weight.shape[0], len(tokenizer)
    if rows and tokens > rows:
        raise Refusal(
            Text(
                f"分词器有 {tokens} 个词元，而模型只有 {rows} 个",
                f"the tokenizer has {tokens} tokens, the model {rows}",
            ),
            Text("请使用与模型配套的分词器", "take the tokenizer that belongs to the model"),
        )


def check_length(model: PreTrainedModel, longest: int) -> None:
    """Refuses sequences that are longer than a model that has learned its positions; others count on."""
    from torch import nn

    most = getattr(model.config, "max_position_embeddings", None)
    learned = (
        isinstance(module, nn.Embedding) and ("position" in name or name.endswith("wpe"))
        for name, module in model.named_modules()
    )
    if most and longest > most and any(learned):
        raise Refusal(
            Text(
                f"序列可达 {longest} 个词元，而模型只有 {most} 个位置",
                f"sequences have up to {longest} tokens, and the model {most} positions",
            ),
            Text(
                "请减小 model.max_length（生成时还有 recipe.max_completion_length），使总长不超过模型的位置数",
                "lower model.max_length, and recipe.max_completion_length where answers are made, until both together fit",
            ),
        )
