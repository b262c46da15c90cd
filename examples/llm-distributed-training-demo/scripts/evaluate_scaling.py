#!/usr/bin/env python3
"""The repository's own scripts/evaluate_scaling.py, under the demo's name."""

import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "scripts"))
    runpy.run_path(str(ROOT / "scripts/evaluate_scaling.py"), run_name="__main__")
