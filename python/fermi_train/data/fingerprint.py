"""A name for data: other rows, another tokenizer or other settings have another."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

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
