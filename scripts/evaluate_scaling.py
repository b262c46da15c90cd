#!/usr/bin/env python3
"""Measures how a training scales over GPUs: all arguments are those of `fermi scale`.
实测训练随 GPU 数的扩展性：参数与 `fermi scale` 相同。

python scripts/evaluate_scaling.py --num_gpus_list 1 2 4 8 --results_dir results/scaling_analysis/
"""

from __future__ import annotations

import sys

from _fermi import become

if __name__ == "__main__":
    become("scale", *sys.argv[1:])
