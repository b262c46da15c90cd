#!/usr/bin/env python3
"""Checks and tokenises data before a training: all arguments are those of `python -m fermi_train prepare`.
训练前检查数据并分词：参数与 `python -m fermi_train prepare` 相同。

python prepare_datasets.py --config config.yaml
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))

from fermi_train.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(["prepare", *sys.argv[1:]], prog="prepare_datasets.py"))
