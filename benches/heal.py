"""From the kill of a rank to the first step of the next attempt, cold and warm in turn.

usage: heal.py FERMI PYTHON [PAIRS]
Two ranks of tests/ranks/torch_warm.py under `fermi run`; rank 1 is killed once, when it has made its steps and, with
`--warm on`, both ranks are parked. Times are the kernel's monotonic clock: before the kill here, after the step in the rank that
makes it last. Prints one line per pair, the medians and their ratio, and writes bench-results/heal.json.
"""

import glob
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from looks import events, text, wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPT = os.path.join(ROOT, "tests/ranks/torch_warm.py")
LONGEST_S = 120


def heal(fermi, python, warm, script=SCRIPT, ranks=2, story=None):
    """Milliseconds from the kill of the last rank to the last first step; into `story` comes what the journal says meanwhile."""
    with tempfile.TemporaryDirectory(prefix="fermi-heal-") as place:
        told = os.path.join(place, "told")
        os.mkdir(told)
        own = {"PYTHON_EXEC": python, "GLOO_SOCKET_IFNAME": "lo", "FERMI_STATE_DIR": os.path.join(place, "state")}
        words = [fermi, "run", "-q", "-n", str(ranks), "--max-restarts", "1", "--warm", warm]
        words += ["--log-dir", os.path.join(place, "logs"), script, told]
        run = subprocess.Popen(words, env={**os.environ, **own}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            journal = wait_for(lambda: glob.glob(os.path.join(place, "logs/*/journal.ndjson")), LONGEST_S)[0]
            wait_for(lambda: all(text(os.path.join(told, f"losses-1-{rank}")) for rank in range(ranks)), LONGEST_S)
            wait_for(lambda: warm == "off" or len(events(journal, "rank.parked")) == ranks, LONGEST_S)
            victim = next(event["pid"] for event in events(journal, "rank.started") if event["rank"] == ranks - 1)
            time.sleep(0.5)
            before, before_ms = time.monotonic_ns(), time.time() * 1e3
            os.kill(victim, signal.SIGKILL)
            seen = lambda rank: wait_for(lambda: text(os.path.join(told, f"step-2-{rank}")), LONGEST_S)  # noqa: E731
            steps = [seen(rank) for rank in range(ranks)]
            if warm != "off" and not events(journal, "ranks.released"):
                raise RuntimeError(f"started cold: {events(journal, 'ranks.cold')}")
            if story is not None:
                time.sleep(0.5)
                after = [event for event in events(journal) if event["timeMs"] >= before_ms - 1]
                story.extend((event["event"], round(event.get("sinceMs", event["timeMs"]) - before_ms)) for event in after)
            return (max(int(step) for step in steps) - before) / 1e6
        finally:
            with open(os.path.join(told, "end"), "w"):
                pass
            run.terminate()
            run.wait()


def tell(label, cold, warm):
    """One row of the table."""
    print(f"{label}: cold {cold:8.1f} ms   warm {warm:7.1f} ms   {cold / warm:6.1f} x", flush=True)


def main():
    """Measures the pairs."""
    fermi, python = sys.argv[1:3]
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    cold, warm = [], []
    for pair in range(pairs):
        cold.append(heal(fermi, python, "off"))
        warm.append(heal(fermi, python, "on"))
        tell(f"pair {pair + 1:2}", cold[-1], warm[-1])
    tell("median ", statistics.median(cold), statistics.median(warm))
    print(f"range  : cold {min(cold):.1f}..{max(cold):.1f}   warm {min(warm):.1f}..{max(warm):.1f}")
    results = os.path.join(ROOT, "bench-results")
    os.makedirs(results, exist_ok=True)
    with open(os.path.join(results, "heal.json"), "w") as file:
        json.dump({"coldMs": cold, "warmMs": warm, "cores": os.cpu_count()}, file, indent=1)


if __name__ == "__main__":
    main()
