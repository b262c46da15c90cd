#!/usr/bin/env python3
"""Test 2: DeepSpeed's engine trains, and its loss falls.

deepspeed --num_gpus 1 tests/test_deepspeed_integration.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from utils.distributed_utils import device, join  # noqa: E402
from utils.lessons import batches, tiny_model  # noqa: E402


def test_deepspeed_integration() -> None:
    """Trains a tiny model by ZeRO-2 for a few steps."""
    print("=== DeepSpeed集成验证 ===")
    import deepspeed

    print("✅ DeepSpeed导入成功")
    rank, world = join()
    model = tiny_model()
    print(f"✅ 模型参数量: {sum(p.numel() for p in model.parameters()):,}")
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "zero_optimization": {"stage": 2},
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config, dist_init_required=False)
    losses = []
    for batch in batches(10, rank, world):
        loss = engine(**{name: value.to(device()) for name, value in batch.items()}).loss
        engine.backward(loss)
        engine.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    print(f"✅ ZeRO-2 训练 10 步，损失 {losses[0]:.3f} → {losses[-1]:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    test_deepspeed_integration()
