"""A name for data: other rows, another tokenizer or other settings have another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..messages import Refusal, Text

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from .request import Request

# Raised when the same input gives other samples.
_VERSION = 1


def fingerprint(request: Request, tokenizer: PreTrainedTokenizerBase) -> str:
    """Hashes the bytes of all files, the tokenizer and everything that decides what becomes of them."""
    digest = hashlib.blake2b(digest_size=12)
    settings = [_VERSION, request.algorithm, request.format, request.max_length, request.eval_share, request.seed]
    digest.update(json.dumps([*settings, request.skip_bad]).encode())
    backend = getattr(tokenizer, "backend_tokenizer", None)
    digest.update((backend.to_str() if backend is not None else json.dumps(tokenizer.get_vocab())).encode())
    digest.update(str(tokenizer.chat_template).encode() + str(tokenizer.eos_token).encode())
    for file in request.files:
        with file.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "blake2b").digest())
    return digest.hexdigest()


def of_tokenizer(tokenizer: PreTrainedTokenizerBase) -> str:
    """Names a tokenizer by its vocabulary: with another one a number stands for another text."""
    words = [sorted(tokenizer.get_vocab().items()), str(tokenizer.eos_token)]
    return hashlib.blake2b(json.dumps(words).encode(), digest_size=12).hexdigest()


def check_everywhere(found: Sequence[str]) -> None:
    """Refuses to train where ranks, by their order, have different data: they would count different steps."""
    if (other := next((rank for rank, one in enumerate(found) if one != found[0]), None)) is None:
        return
    raise Refusal(
        Text(
            f"rank {other} 的数据（{found[other]}）与 rank 0 的（{found[0]}）不同",
            f"rank {other} has other data ({found[other]}) than rank 0 ({found[0]})",
        ),
        Text(
            "请让所有节点的数据文件和分词器逐字节相同，或放在共享文件夹中",
            "the files and the tokenizer have to be the same on all nodes, byte by byte, or in a shared folder",
        ),
    )
