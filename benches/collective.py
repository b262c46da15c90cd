"""All-reduce of fermi beside torch's gloo over loopback, in turn: FERMI PYTHON [PROCESSES] [ROUNDS].

Each round measures every size once with `fermi bench collective` and once with gloo, whose processes stay, so that both meet the
same noise. Shown are the medians and the best of the rounds, how many times faster ours is by either, and how many copies within
memory our best is worth.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import statistics
import subprocess
import sys
import time

# Bytes, how often a turn of gloo repeats them, and how many times faster than gloo ours must be.
SIZES = [(1 << 10, 200, 4.0), (1 << 20, 50, 2.0), (16 << 20, 10, 1.3), (256 << 20, 3, 1.15)]


def rank(number: int, world: int, port: int) -> None:
    """One process of gloo: reads sizes and counts, answers with its median in microseconds."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(number), WORLD_SIZE=str(world))
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    print("ready", flush=True)
    for line in sys.stdin:
        size, count = map(int, line.split())
        values = torch.zeros(size // 4)
        distributed.all_reduce(values)
        distributed.barrier()
        times = []
        for _ in range(count):
            start = time.perf_counter()
            distributed.all_reduce(values)
            times.append((time.perf_counter() - start) * 1e6)
        print(statistics.median(times), flush=True)


class Gloo:
    def __init__(self, python: str, world: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = [python, os.path.abspath(__file__), "--rank"]
        self.ranks = [
            subprocess.Popen([*words, str(n), str(world), str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for n in range(world)
        ]
        for process in self.ranks:
            assert process.stdout.readline() == "ready\n"

    def measure(self, size: int, count: int) -> float:
        for process in self.ranks:
            process.stdin.write(f"{size} {count}\n")
            process.stdin.flush()
        first, *_ = [float(process.stdout.readline()) for process in self.ranks]
        return first

    def end(self) -> None:
        for process in self.ranks:
            process.stdin.close()
            process.wait(30)


def ours(fermi: str, world: int, size: int) -> dict:
    words = ["--operation", "all-reduce", "--min", str(size), "--max", str(size), "--nproc-per-node", str(world), "--json"]
    answer = subprocess.run([fermi, "bench", "collective", *words], check=True, stdout=subprocess.PIPE, text=True)
    row = json.loads(answer.stdout)["rows"][0]
    assert row["wrong"] == 0, row
    return row


def copy_us(size: int) -> float:
    """A copy of so much memory: into the socket, out of it and the sum are at least three."""
    source, target = ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)
    ctypes.memmove(target, source, size)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        ctypes.memmove(target, source, size)
        times.append((time.perf_counter() - start) * 1e6)
    return min(times)


def main(fermi: str, python: str, world: int = 2, rounds: int = 7) -> None:
    gloo = Gloo(python, world)
    seen = {size: ([], [], []) for size, _, _ in SIZES}
    for turn in range(rounds):
        for size, count, _ in SIZES:
            print(f"\r{turn + 1}/{rounds} {size >> 10} KiB    ", end="", file=sys.stderr, flush=True)
            us, theirs, copies = seen[size]
            us.append(ours(fermi, world, size)["micros"])
            theirs.append(gloo.measure(size, count))
            copies.append(copy_us(size))
    gloo.end()
    print("\r", end="", file=sys.stderr)
    print(f"all-reduce of {world} processes over loopback, {rounds} turns each")
    print(f"{'size':>10} {'ours us':>10} {'best':>10} {'gloo us':>10} {'best':>10} {'ours GB/s':>10} {'gloo GB/s':>10} {'ratio':>6} {'best':>6} {'asked':>6} {'copies':>7}")
    for size, _, asked in SIZES:
        us, theirs, copies = seen[size]
        mine, other = statistics.median(us), statistics.median(theirs)
        print(
            f"{size >> 10:>6} KiB {mine:>10.0f} {min(us):>10.0f} {other:>10.0f} {min(theirs):>10.0f}"
            f" {size / mine / 1e3:>10.2f} {size / other / 1e3:>10.2f} {other / mine:>6.2f}"
            f" {min(theirs) / min(us):>6.2f} {asked:>6.2f} {min(us) / min(copies):>7.1f}"
        )


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        rank(*map(int, sys.argv[2:5]))
    else:
        main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
