#!/usr/bin/env python3
"""Test 1: the ranks of a launch reach each other.

fermi run --nproc-per-node 2 tests/test_distributed_setup.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from utils.distributed_utils import device, join  # noqa: E402


def test_distributed_setup() -> None:
    """Joins, says who this is, and adds the numbers of all ranks."""
    print("=== 分布式环境验证 ===")
    rank, world_size = join()
    print(f"✅ 进程等级: {rank}")
    print(f"✅ 总进程数: {world_size}")
    if torch.cuda.is_available():
        torch.cuda.set_device(device())
        print(f"✅ GPU设备: {device()}")
    tensor = torch.ones(1, device=device()) * rank
    dist.all_reduce(tensor)
    assert float(tensor) == sum(range(world_size))
    print(f"✅ 通信测试成功，聚合结果: {tensor.item()}")
    dist.destroy_process_group()


if __name__ == "__main__":
    test_distributed_setup()
