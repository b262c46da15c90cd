"""Becomes `fermi server` with the same arguments: python -m procguard --config configs/procguard_config.yaml"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))

from _fermi import become  # noqa: E402

if __name__ == "__main__":
    become("server", *sys.argv[1:])
