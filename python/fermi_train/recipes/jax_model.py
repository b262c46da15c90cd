"""The model of the JAX recipe: a decoder with learned positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Shape:
    """The size of the model."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    length: int


def weights_of(shape: Shape, seed: int) -> dict[str, Any]:
    """Draws the weights, the same in every process."""
    random = np.random.default_rng(seed)

    def draw(*size: int) -> np.ndarray:
        return (random.normal(size=size) * 0.02).astype(np.float32)

    width = shape.width
    layer = lambda: {  # noqa: E731
        "norm_1": np.ones(width, np.float32),
        "norm_2": np.ones(width, np.float32),
        "attention": draw(width, 3 * width),
        "out": draw(width, width),
        "up": draw(width, 4 * width),
        "down": draw(4 * width, width),
    }
    return {
        "tokens": draw(shape.vocabulary, width),
        "positions": draw(shape.length, width),
        "norm": np.ones(width, np.float32),
        "head": draw(width, shape.vocabulary),
        "layers": [layer() for _ in range(shape.layers)],
    }


def logits_of(shape: Shape, weights: dict[str, Any], ids: Any) -> Any:
    """Gives the logits of a decoder with pre-norm layers."""
    import jax
    import jax.numpy as jnp

    def normed(x: Any, scale: Any) -> Any:
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale

    batch, length = ids.shape
    x = weights["tokens"][ids] + weights["positions"][:length]
    for layer in weights["layers"]:
        mixed = normed(x, layer["norm_1"]) @ layer["attention"]
        query, key, value = (part.reshape(batch, length, shape.heads, -1) for part in jnp.split(mixed, 3, -1))
        seen = jax.nn.dot_product_attention(query, key, value, is_causal=True)
        x = x + seen.reshape(batch, length, -1) @ layer["out"]
        x = x + jax.nn.gelu(normed(x, layer["norm_2"]) @ layer["up"]) @ layer["down"]
    return normed(x, weights["norm"]) @ weights["head"]
