"""From the kill of a rank on a GPU to the first step of the next attempt: cold, parked, and parked with a CUDA context.

usage: warm.py FERMI PYTHON [TURNS [RANKS]]
One rank with NCCL unless RANKS says otherwise; more ranks than GPUs share them over gloo.
"""

import os
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "benches"))

from heal import heal  # noqa: E402

SCRIPT = os.path.join(ROOT, "tests/gpu/warm_rank.py")


def main():
    """Measures the three in turn."""
    fermi, python = sys.argv[1:3]
    turns, ranks = (int(word) for word in [*sys.argv[3:5], *("3", "1")[len(sys.argv[3:5]) :]])
    measured = {"off": [], "on": [], "cuda": []}
    for _ in range(turns):
        for warm, all_ms in measured.items():
            story = []
            all_ms.append(heal(fermi, python, warm, SCRIPT, ranks, story))
            print(f"--warm {warm:5} {all_ms[-1]:8.1f} ms", flush=True)
            print("   ", ", ".join(f"{name} {ms}" for name, ms in story), flush=True)
    cold = statistics.median(measured["off"])
    for warm, all_ms in measured.items():
        middle = statistics.median(all_ms)
        print(f"median of {turns}, {ranks} rank(s), --warm {warm:5} {middle:8.1f} ms   {cold / middle:5.1f} x")


if __name__ == "__main__":
    main()
