"""A decoder of Llama's shape in plain PyTorch, written out, for `tests/gpu/scale.sh`: LAYERS HIDDEN HEADS FFN VOCAB SEQUENCE BATCH STEPS.

bf16 weights and Adam, no recomputation; under DDP where there are several ranks. Rank 0 writes its speed to FERMI_PROGRESS_FILE.
"""

from __future__ import annotations

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


class Block(nn.Module):
    def __init__(self, hidden: int, heads: int, ffn: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = Norm(hidden), Norm(hidden)
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(hidden, ffn, bias=False), nn.Linear(hidden, ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, length, hidden = x.shape
        y = self.before(x)
        q, k, v = (part(y).view(batch, length, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        y = functional.scaled_dot_product_attention(rotated(q, cos, sin), rotated(k, cos, sin), v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, hidden))
        y = self.between(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, layers: int, hidden: int, heads: int, ffn: int, vocab: int, length: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocab, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads, ffn) for _ in range(layers))
        self.last, self.head = Norm(hidden), nn.Linear(hidden, vocab, bias=False)
        width = hidden // heads
        angle = torch.outer(torch.arange(length), 10000 ** (-torch.arange(0, width, 2) / width)).repeat(1, 2)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits = self.head(self.last(x)).float()
        return functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def main(layers: int, hidden: int, heads: int, ffn: int, vocab: int, length: int, batch: int, steps: int) -> None:
    world = int(os.environ.get("WORLD_SIZE", "1"))
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    torch.manual_seed(0)
    model = Decoder(layers, hidden, heads, ffn, vocab, length).cuda().to(torch.bfloat16)
    if world > 1:
        dist.init_process_group("nccl")
        model = DistributedDataParallel(model)
    adam = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.randint(vocab, (batch, length), device="cuda")
    file = os.environ.get("FERMI_PROGRESS_FILE")
    for step in range(steps):
        start = time.perf_counter()
        model(tokens).backward()
        adam.step()
        adam.zero_grad()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        if file and os.environ.get("RANK", "0") == "0":
            with open(file, "a", encoding="utf-8") as progress:
                line = {"time": time.time(), "step": step + 1, "totalSteps": steps, "tokensPerS": batch * length * world / seconds}
                progress.write(json.dumps(line) + "\n")
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
