#!/usr/bin/env python3
"""The repository's own scripts/distributed_train.py, under the demo's name."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

if __name__ == "__main__":
    runpy.run_path(str(ROOT / "scripts/distributed_train.py"), run_name="__main__")
