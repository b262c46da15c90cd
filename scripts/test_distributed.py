#!/usr/bin/env python3
"""Tests whether this machine can train in several processes.
测试本机能否进行多进程训练。

Where this fermi has `fermi doctor`, that is run, with the arguments given here. Otherwise the variables of a distributed run
and the devices of torch and JAX are shown, the master that MASTER_ADDR names is tried, and two ranks of the built-in trainer
train together over the loopback.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from _fermi import become, program, say

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
DEVICES = {
    "PyTorch": "import torch, torch.distributed as d;"
    "print(torch.__version__, 'CUDA', torch.cuda.device_count(), 'distributed', d.is_available())",
    "JAX": "import jax; print(jax.__version__, *(str(device) for device in jax.devices()))",
}


def devices() -> None:
    """Shows what the frameworks see, each in a process of its own."""
    for name, question in DEVICES.items():
        asked = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=False)
        missing = say("未安装", "not installed")
        print(f"  {name}: {asked.stdout.strip() if asked.returncode == 0 else missing}")


def network() -> bool:
    """Tries the master, where one is named that is not this machine."""
    host, port = os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", "29500")
    if host in ("", "localhost", "127.0.0.1"):
        print(say("  网络：没有设置其他主机的 MASTER_ADDR，不测试", "  network: MASTER_ADDR names no other machine"))
        return True
    try:
        with socket.create_connection((host, int(port)), timeout=5):
            print(say(f"  网络：{host}:{port} 可以连接", f"  network: {host}:{port} answers"))
            return True
    except (OSError, ValueError):
        print(
            say(
                f"  网络：连接不到 {host}:{port}；检查地址与防火墙，并确认主节点已启动",
                f"  network: {host}:{port} does not answer; check address and firewall, and that the master is up",
            )
        )
        return False


def main() -> int:
    fermi = program()
    help_text = subprocess.run([fermi, "--help"], capture_output=True, text=True, check=False).stdout
    if "\n  doctor" in help_text:
        become("doctor", *sys.argv[1:])
    print(say("环境变量", "variables"))
    for name in NAMES:
        print(f"  {name}={os.environ.get(name, say('（未设置，由 fermi run 设置）', '(not set; fermi run sets it)'))}")
    print(say("设备与网络", "devices and network"))
    devices()
    reached = network()
    print(say("两个 rank 在本机通信", "two ranks on this machine"), flush=True)
    trainer = ["--no-python", fermi, "trainer", "--steps", "20"]
    code = subprocess.run([fermi, "run", "--nproc-per-node", "2", *trainer], check=False).returncode
    if code != 0:
        return code
    print(say("两个 rank 在本机一起完成了训练", "two ranks trained together on this machine"))
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
