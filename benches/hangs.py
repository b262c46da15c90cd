"""Fourteen ways in which a rank makes all others wait, at each of five ranks: is it named, with its line, and how soon?

usage: hangs.py FERMI PYTHON [KINDS [RANKS]]
Five ranks of tests/ranks/torch_faults.py under `fermi run`, steps of 100 ms. What is true is known beforehand: the rank by the
command, the line by its mark in the script, the moment by what the rank writes. The first verdict counts, and must come within
5 s of the last progress, 1 s where the rank's own process was stopped. KINDS and RANKS choose some of them, with commas.
Prints one row per kind and writes bench-results/hangs.json; fails where a rank or a line is wrong or late.
"""

import ast
import contextlib
import glob
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

from looks import events, text, wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPT = os.path.join(ROOT, "tests/ranks/torch_faults.py")
WORLD = 5
LONGEST_S, STARTS_WITHIN_S = 40, 120
ALLOWED_S = {"stopped": 1.0}
# Where the rank named stands: at a line of its fault, or of the collective in which all are; one that is stopped or has left was
# last seen anywhere in its loop.
KINDS = {
    "stopped": "train", "gilHeld": "gilHeld", "sleep": "sleep", "deadlock": "deadlock", "dataLoader": "dataLoader",
    "diskWait": "diskWait", "swallowed": "swallowed", "mismatch": "mismatch", "earlyReturn": "train",
    "partition": "collective", "pausedChild": "pausedChild", "nativeSpin": "nativeSpin", "otherGroup": "otherGroup",
    "oneTooMany": "oneTooMany",
}


def marked_lines():
    """The lines of the script by their marks, and those of its functions by their names."""
    source = text(SCRIPT)
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    lines = {node.name: range(node.lineno, node.end_lineno + 1) for node in functions if node.name == "train"}
    for number, line in enumerate(source.splitlines(), 1):
        for mark in line.partition("# at: ")[2].split(","):
            if mark.strip():
                lines.setdefault(mark.strip(), []).append(number)
    return lines


class Disk:
    """A file system of its own, which the rank freezes; without the rights for it there is none."""

    def __init__(self, told, kind):
        self.folder = os.path.join(told, "disk")
        os.mkdir(self.folder)
        self.is_there = kind == "diskWait" and os.geteuid() == 0 and self.mount(os.path.join(told, "image"))
        if self.is_there:
            with open(os.path.join(self.folder, "file"), "w"):
                pass

    def mount(self, image):
        """Whether there is one."""
        with open(image, "wb") as file:
            file.truncate(16 << 20)
        commands = [["mkfs.ext4", "-q", image], ["mount", "-o", "loop", image, self.folder]]
        try:
            return all(subprocess.run(words, capture_output=True).returncode == 0 for words in commands)
        except FileNotFoundError:
            return False

    def thaw(self):
        """Lets whoever writes go on."""
        if self.is_there:
            subprocess.run(["fsfreeze", "--unfreeze", self.folder], capture_output=True)

    def end(self):
        """Takes it away."""
        self.thaw()
        if self.is_there:
            subprocess.run(["umount", self.folder], capture_output=True)


def named(event):
    """Who is said to be why, and at which line; nothing of what says neither."""
    if event["event"] == "hang.verdict":
        return event["ranks"], (event.get("place") or {}).get("line"), event["kind"]
    verdict = event["verdict"]
    own = (re.match(rf"  {re.escape(SCRIPT)}:(\d+) ", line) for line in verdict["evidence"])
    line = next((int(found[1]) for found in own if found), None)
    return [verdict["first"]["rank"]], line, (verdict.get("diagnosis") or {}).get("id", "failed")


def play(fermi, python, kind, rank, lines):
    """One fault at one rank."""
    with tempfile.TemporaryDirectory(prefix="fermi-hangs-") as place:
        told = os.path.join(place, "told")
        os.mkdir(told)
        disk = Disk(told, kind)
        own = {"PYTHON_EXEC": python, "GLOO_SOCKET_IFNAME": "lo", "FERMI_STATE_DIR": os.path.join(place, "state")}
        words = [fermi, "run", "-q", "-n", str(WORLD), "--shutdown-timeout", "0.1"]
        words += ["--log-dir", os.path.join(place, "logs"), SCRIPT, told, kind, str(rank)]
        run = subprocess.Popen(words, env={**os.environ, **own}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            began = int(wait_for(lambda: text(os.path.join(told, "began")), STARTS_WITHIN_S))
            journal = glob.glob(os.path.join(place, "logs/*/journal.ndjson"))[0]
            tells = ("hang.verdict", "attempt.failed")
            with contextlib.suppress(TimeoutError):
                wait_for(lambda: events(journal, *tells, "run.ended"), LONGEST_S)
            told_of = events(journal, *tells)
        finally:
            disk.thaw()
            run.send_signal(signal.SIGTERM)
            run.wait()
            disk.end()
    if not told_of:
        return {"rank": rank, "found": False}
    ranks, at, how = named(told_of[0])
    seconds = (told_of[0]["timeMs"] - began) / 1e3
    said = (told_of[0].get("text") or told_of[0].get("verdict", {}).get("diagnosis", {}).get("cause") or {}).get("en")
    return {"rank": rank, "found": True, "rankRight": ranks == [rank], "lineRight": at in lines, "said": said,
            "kind": how, "seconds": round(seconds, 2), "inTime": seconds <= ALLOWED_S.get(kind, 5.0)}


def row(kind, results):
    """How often what was right."""
    count = lambda what: sum(bool(result.get(what)) for result in results)  # noqa: E731
    seconds = [result["seconds"] for result in results if result["found"]]
    middle = f"{statistics.median(seconds):5.1f} s, {max(seconds):4.1f} s at most" if seconds else "-"
    counts = "   ".join(f"{count(what)}/{len(results)}" for what in ("found", "rankRight", "lineRight", "inTime"))
    return f"{kind:12} {counts}   {middle}"


def is_right(result):
    """Everything about it."""
    return all(result.get(what) for what in ("found", "rankRight", "lineRight", "inTime"))


def main():
    """Plays the matrix."""
    fermi, python = sys.argv[1:3]
    kinds = sys.argv[3].split(",") if len(sys.argv) > 3 and sys.argv[3] else list(KINDS)
    ranks = [int(rank) for rank in sys.argv[4].split(",")] if len(sys.argv) > 4 and sys.argv[4] else range(WORLD)
    lines, table = marked_lines(), {}
    print("kind         found rank  line  in time   seconds", flush=True)
    for kind in kinds:
        table[kind] = [play(fermi, python, kind, rank, lines[KINDS[kind]]) for rank in ranks]
        print(row(kind, table[kind]), flush=True)
        for result in table[kind]:
            if not is_right(result):
                print(f"    {result}", flush=True)
    right = sum(is_right(result) for results in table.values() for result in results)
    total = sum(map(len, table.values()))
    print(f"{right} of {total} right")
    results = os.path.join(ROOT, "bench-results")
    os.makedirs(results, exist_ok=True)
    with open(os.path.join(results, "hangs.json"), "w") as file:
        json.dump({"right": right, "total": total, "kinds": table, "cores": os.cpu_count()}, file, indent=1)
    sys.exit(right < total)


if __name__ == "__main__":
    main()
