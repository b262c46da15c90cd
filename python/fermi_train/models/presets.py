"""Models by their shape alone: random weights, nothing is downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PretrainedConfig

_LLAMA = {"rms_norm_eps": 1e-5, "tie_word_embeddings": False}
_TINY = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 512}


def _opt(hidden: int, layers: int, heads: int, projection: int | None = None) -> tuple[str, dict[str, Any]]:
    shape = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "ffn_dim": 4 * hidden}
    return "opt", {**shape, "vocab_size": 50272, "word_embed_proj_dim": projection or hidden,
                   "do_layer_norm_before": projection is None, "max_position_embeddings": 2048}  # fmt: skip


PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "tiny": ("llama", {**_LLAMA, **_TINY, "intermediate_size": 128, "num_key_value_heads": 2, "vocab_size": 264}),
    "tiny-opt": ("opt", {**_TINY, "ffn_dim": 128, "word_embed_proj_dim": 64, "vocab_size": 264}),
    "opt-125m": _opt(768, 12, 12),
    "opt-350m": _opt(1024, 24, 16, projection=512),
    "opt-1.3b": _opt(2048, 24, 32),
}


def preset(name: str) -> PretrainedConfig:
    """Gives the configuration of a preset; an unknown name is a `KeyError`."""
    from transformers import AutoConfig

    kind, shape = PRESETS[name]
    return AutoConfig.for_model(kind, **shape, bos_token_id=1, eos_token_id=2, pad_token_id=0)
