#!/usr/bin/env python3
"""Tests whether this machine can train in several processes.

Where this fermi has `fermi doctor`, that is run, with the arguments given here. Otherwise the variables of a distributed run
are shown, and two ranks of the built-in trainer train together over the loopback.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")


def main() -> int:
    fermi = os.environ.get("FERMI_BIN") or shutil.which("fermi")
    if fermi is None:
        sys.exit("error: there is no fermi on the PATH\n\nhint: install it, or name it in FERMI_BIN")
    help_text = subprocess.run([fermi, "--help"], capture_output=True, text=True, check=False).stdout
    if "\n  doctor" in help_text:
        os.execv(fermi, ["fermi", "doctor", *sys.argv[1:]])
    print("this fermi has no `fermi doctor` yet: testing what there is, without GPUs and without other machines")
    for name in NAMES:
        print(f"  {name}={os.environ.get(name, '(not set; fermi run sets it)')}")
    two = [fermi, "run", "--nproc-per-node", "2"]
    trainer = ["--no-python", fermi, "trainer", "--steps", "20"]
    for command, shown in (([*two, "--dry-run", *trainer], subprocess.DEVNULL), ([*two, *trainer], None)):
        code = subprocess.run(command, stdout=shown, check=False).returncode
        if code != 0:
            return code
    print("two ranks trained together on this machine")
    return 0


if __name__ == "__main__":
    sys.exit(main())
