"""From the kill of a rank to the first step of the next attempt, cold and warm in turn.

usage: heal.py FERMI PYTHON [PAIRS [ROWS [REPEATS]]]
Two ranks of tests/ranks/torch_warm.py under `fermi run`; rank 1 is killed once, when it has made its steps and, with
`--warm on`, both ranks are parked. Times are the kernel's monotonic clock: before the kill here, after the step in the rank that
makes it last. Prints one line per pair, the medians and their ratio.

Beside these ranks (row `plain`) the same with a script that imports transformers and deepspeed first (`libraries`), which must
start LIBRARIES_FASTER times as fast, and what the hook costs (`hook`): in one process of each, whole blocks of steps in turn with
it and without, which may differ by HOOK_COSTS and what is chance; REPEATS times, each process on a core of its own, which the two
change from time to time. ROWS chooses, with commas. Writes bench-results/heal.json; fails where a bound is missed.
"""

import functools
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
LIBRARIES = os.path.join(ROOT, "benches/scripts/with_libraries.py")
STEPS = os.path.join(ROOT, "benches/scripts/hook_cost.py")
LONGEST_S = 120
ROWS = ("plain", "libraries", "hook")
LIBRARIES_FASTER, HOOK_COSTS = 80, 0.001
# Steps of one rank with the hook and of one without, blocks of them in turn.
HOOK_STEPS, BLOCK = 2_000, 50


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


def pairs_of(fermi, python, pairs, script=SCRIPT):
    """Cold and warm in turn."""
    cold, warm = [], []
    for pair in range(pairs):
        cold.append(heal(fermi, python, "off", script))
        warm.append(heal(fermi, python, "on", script))
        tell(f"pair {pair + 1:2}", cold[-1], warm[-1])
    tell("median ", statistics.median(cold), statistics.median(warm))
    print(f"range  : cold {min(cold):.1f}..{max(cold):.1f}   warm {min(warm):.1f}..{max(warm):.1f}")
    return {"coldMs": cold, "warmMs": warm}


def hook_cost(fermi, python, repeats):
    """By how much a step takes longer with the hook: the mean of the repeats' medians, and what that differs by from chance."""
    # A core may be faster than another: each run has had both after two repeats.
    cores, kept = sorted(os.sched_getaffinity(0)), {"withNs": [], "withoutNs": []}
    medians, errors = [], []
    for repeat in range(repeats):
        pair = cores[:2] if len(cores) >= 3 else []
        with_hook, without = hook_blocks(fermi, python, pair[:: -1 if repeat % 2 else 1])
        ratios = [after / before for after, before in zip(with_hook, without)]
        medians.append(statistics.median(ratios) - 1)
        errors.append(statistics.stdev(ratios) * 1.25 / len(ratios) ** 0.5)
        kept["withNs"] += with_hook
        kept["withoutNs"] += without
    # What two runs of the same would differ by: of a machine that does other things too it is more than the bound.
    error = max(statistics.stdev(medians) if repeats > 2 else 0.0, statistics.fmean(errors)) / repeats ** 0.5
    return {**kept, "slower": statistics.fmean(medians), "error": error}


def hook_blocks(fermi, python, cores):
    """Nanoseconds of the steps of two runs that make blocks of them in turn, each waiting for the other: with the hook and without."""
    with tempfile.TemporaryDirectory(prefix="fermi-hook-") as place:
        runs, ends = [], [os.path.join(place, hook) for hook in ("on", "off")]
        for hook, end in zip(("on", "off"), ends):
            own = {"PYTHON_EXEC": python, "FERMI_STATE_DIR": os.path.join(place, f"state-{hook}"), "OMP_NUM_THREADS": "1"}
            words = [fermi, "run", "-q", "-n", "1", "--hook", hook, "--log-dir", f"{end}.logs", STEPS, end, str(HOOK_STEPS), str(BLOCK)]
            core = {cores[len(runs)]} if cores else os.sched_getaffinity(0)
            runs.append(subprocess.Popen(words, env={**os.environ, **own}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         preexec_fn=functools.partial(os.sched_setaffinity, 0, core)))
        try:
            for end in ends:
                wait_for(lambda end=end: text(f"{end}.ready"), LONGEST_S)
            for turn in range(HOOK_STEPS // BLOCK):
                # The one that begins changes from block to block.
                for end in ends if turn % 2 else ends[::-1]:
                    with open(f"{end}.go", "a") as file:
                        file.write("\n")
                    wait_for(lambda end=end, turn=turn: len(text(end).splitlines()) > turn, LONGEST_S)
        finally:
            for run in runs:
                run.terminate()
                run.wait()
        return [[int(line) / BLOCK for line in text(end).splitlines()] for end in ends]


def main():
    """Measures what was asked for."""
    fermi, python = sys.argv[1:3]
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3] else 20
    asked = sys.argv[4].split(",") if len(sys.argv) > 4 and sys.argv[4] else ROWS
    repeats = int(sys.argv[5]) if len(sys.argv) > 5 and sys.argv[5] else 1
    kept, missed = {"cores": os.cpu_count()}, []
    if "plain" in asked:
        kept.update(pairs_of(fermi, python, pairs))
    if "libraries" in asked:
        print("with transformers and deepspeed", flush=True)
        kept["libraries"] = of_libraries = pairs_of(fermi, python, max(pairs // 4, 1), LIBRARIES)
        ratio = statistics.median(of_libraries["coldMs"]) / statistics.median(of_libraries["warmMs"])
        missed += [f"{ratio:.0f} x sooner, {LIBRARIES_FASTER} x expected"] if ratio < LIBRARIES_FASTER else []
    if "hook" in asked:
        kept["hook"] = cost = hook_cost(fermi, python, repeats)
        print(f"hook   : {cost['slower'] * 100:+.3f} % (give or take {cost['error'] * 100:.3f} %) over {repeats} x {HOOK_STEPS} steps of {statistics.median(cost['withoutNs']) / 1e6:.2f} ms", flush=True)
        missed += [f"the hook costs {cost['slower'] * 100:.3f} %, {HOOK_COSTS * 100:g} % allowed"] if cost["slower"] - cost["error"] > HOOK_COSTS else []
    results = os.path.join(ROOT, "bench-results")
    os.makedirs(results, exist_ok=True)
    with open(os.path.join(results, "heal.json"), "w") as file:
        json.dump(kept, file, indent=1)
    for miss in missed:
        print(f"MISS: {miss}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
