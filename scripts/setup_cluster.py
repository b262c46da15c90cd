#!/usr/bin/env python3
"""Checks this node and writes cluster_config.yaml: all arguments are those of `fermi setup-cluster`.

python scripts/setup_cluster.py --master_addr localhost --master_port 29500 --world_size 4 --node_rank 0
"""

from __future__ import annotations

import os
import shutil
import sys


def main() -> None:
    fermi = os.environ.get("FERMI_BIN") or shutil.which("fermi")
    if fermi is None:
        sys.exit("error: there is no fermi on the PATH\n\nhint: install it, or name it in FERMI_BIN")
    os.execv(fermi, ["fermi", "setup-cluster", *sys.argv[1:]])


if __name__ == "__main__":
    main()
