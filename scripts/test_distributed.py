#!/usr/bin/env python3
"""Tests whether this machine can train in several processes: variables, devices, network, communication.
测试本机能否进行多进程训练：环境变量、设备、网络、通信。

Becomes `fermi doctor` with the arguments given here; where JAX is installed its devices are listed too.
"""

from __future__ import annotations

import importlib.util
import sys

from _fermi import become

if __name__ == "__main__":
    words = sys.argv[1:]
    if not words:
        words = ["--python", sys.executable]
        if importlib.util.find_spec("jax"):
            words += ["--engine", "jax"]
    become("doctor", *words)
