#!/usr/bin/env python3
"""Starts a distributed training: all arguments are those of `fermi run`, in either spelling.

python scripts/run_distributed.py --nproc_per_node 4 train.py --lr 3e-4
python scripts/run_distributed.py --mode manual --world-size 4 train.py
python scripts/run_distributed.py --mode create_slurm --num-nodes 2 train.py

Where no script is named it is main.py of this folder, else scripts/train.py; --config, --algorithm and what follows them
are then its arguments.
"""

from __future__ import annotations

import os
import shutil
import sys

OF_THE_SCRIPT = ("--config", "--algorithm")
NO_SCRIPT = ("-m", "--module", "--no-python", "--no_python", "-h", "--help")


def main() -> None:
    fermi = os.environ.get("FERMI_BIN") or shutil.which("fermi")
    if fermi is None:
        sys.exit("error: there is no fermi on the PATH\n\nhint: install it, or name it in FERMI_BIN")
    words = sys.argv[1:]
    if not any(word.endswith(".py") or word in NO_SCRIPT for word in words):
        script = next((path for path in ("main.py", "scripts/train.py") if os.path.exists(path)), "main.py")
        mode = ["--mode", "train"] if script == "main.py" else []
        end = next((n for n, word in enumerate(words) if word.split("=")[0] in OF_THE_SCRIPT), len(words))
        words = [*words[:end], script, *mode, *words[end:]]
    os.execv(fermi, ["fermi", "run", *words])


if __name__ == "__main__":
    main()
