#!/usr/bin/env python3
"""Checks this node and writes cluster_config.yaml: all arguments are those of `fermi setup-cluster`.
检查本节点并写出 cluster_config.yaml：参数与 `fermi setup-cluster` 相同。

python scripts/setup_cluster.py --master_addr localhost --master_port 29500 --world_size 4 --node_rank 0
"""

from __future__ import annotations

import sys

from _fermi import become

if __name__ == "__main__":
    become("setup-cluster", *sys.argv[1:])
