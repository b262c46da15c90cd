"""How much of its time a training spends on steps that count while a fault hits it every minute, beside torchrun.

usage: chaos.py FERMI PYTHON [MINUTES [SECONDS_BETWEEN [SEED [LAUNCHERS [KINDS]]]]]
Four gloo ranks of examples/train_ddp.py with steps of 100 ms, a checkpoint every eight steps, one fault per minute at a random
rank, half of them crashes and half hangs, or one of the two alone (KINDS: both, crashes, hangs), the same ones for each launcher
(fermi,torchrun). Fermi restarts from parked ranks and
ends hangs that it has told of after three seconds; torchrun restarts as often, and answers hangs by the collectives' time-out of
ten minutes. The productive share is the steps that were reached, at the pace before the first fault, over the time. A fault is
named where the rank that was hit, and whether it crashed or hung, are what an attempt is said to have failed by, before the next
fault. Prints a table, writes bench-results/chaos.json and the chart bench-results/chaos.svg.
"""

import contextlib
import glob
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

from looks import events, rows, text, wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPT = os.path.join(ROOT, "benches/scripts/paced_ddp.py")
WORLD, QUIET_S, LONGEST_START_S, ENDS_WITHIN_S = 4, 15, 180, 60
SIGNALS = {"kill": signal.SIGKILL, "segv": signal.SIGSEGV, "stop": signal.SIGSTOP}
CRASHES, HANGS = ("kill", "segv", "raise"), ("stop", "sleep", "deadlock", "gil", "partition")
EXITS = {"kill": {"signal": signal.SIGKILL}, "segv": {"signal": signal.SIGSEGV}, "raise": {"code": 1}}
RESTARTS = "100000"
# The least productive share with these kinds of faults.
BOUNDS = {"crashes": 0.99, "both": 0.95}


def schedule(minutes, between_s, seed, wanted):
    """When which rank is hit by what: crashes and hangs in turn, or one of them, kinds and ranks by lot."""
    lot = random.Random(seed)
    count = int(minutes * 60 / between_s)
    turns = {"both": (CRASHES, HANGS), "crashes": (CRASHES,), "hangs": (HANGS,)}[wanted]
    kinds = [lot.choice(turns[turn % len(turns)]) for turn in range(count)]
    return [{"at": (turn + 0.5) * between_s, "kind": kind, "rank": lot.randrange(WORLD)} for turn, kind in enumerate(kinds)]


def marked(mark):
    """The processes that carry a mark in their environment."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if f"CHAOS_MARK={mark}".encode() in file.read().split(b"\0"):
                    found.append(int(path.split("/")[2]))
        except OSError:
            continue
    return found


class Job:
    """One training under one launcher."""

    def __init__(self, place, launcher, fermi, python):
        self.place, self.launcher, self.mark = place, launcher, uuid.uuid4().hex
        self.told, self.progress = os.path.join(place, "told"), os.path.join(place, "progress")
        os.mkdir(self.told)
        own = {"GLOO_SOCKET_IFNAME": "lo", "FERMI_STATE_DIR": os.path.join(place, "state"), "OMP_NUM_THREADS": "1",
               "PYTHON_EXEC": python, "CHAOS_MARK": self.mark, "FERMI_PROGRESS_FILE": self.progress,
               # Ranks of gloo: on a machine with fewer GPUs than ranks each would take one that is not there.
               "CUDA_VISIBLE_DEVICES": ""}
        if launcher == "fermi":
            words = [fermi, "run", "-n", str(WORLD), "--max-restarts", RESTARTS, "--warm", "on", "--on-hang", "restart",
                     "--hang-after", "3", "--log-dir", os.path.join(place, "logs"),
                     "--checkpoint-dir", os.path.join(place, "checkpoints")]
        else:
            own["FERMI_CHECKPOINT_DIR"] = os.path.join(place, "checkpoints")
            words = [os.path.join(os.path.dirname(python), "torchrun"), "--nproc-per-node", str(WORLD),
                     "--max-restarts", RESTARTS]
        self.log = os.path.join(place, "log")
        with open(self.log, "wb") as log:
            self.run = subprocess.Popen([*words, SCRIPT, self.told, "1000000"], env={**os.environ, **own}, stdout=log, stderr=log)

    def steps(self):
        """Unix time and number of every step that rank 0 has told."""
        found = []
        for path in [self.progress, *glob.glob(os.path.join(self.place, "logs/*/**/progress*"), recursive=True)]:
            found += [(row["time"], row["step"]) for row in rows(path) if "time" in row and "step" in row]
        return sorted(found)

    def hit(self, kind, rank):
        """Does it to the process that is the rank now; between two attempts that is nobody."""
        if kind in SIGNALS:
            pid = int(text(os.path.join(self.told, f"pid-{rank}")))
            with contextlib.suppress(ProcessLookupError):
                # The number of one that is gone may be somebody else's by now.
                if pid in marked(self.mark):
                    os.kill(pid, SIGNALS[kind])
        else:
            path = os.path.join(self.told, f"fault-{rank}")
            with open(path + ".new", "w") as file:
                file.write(kind)
            os.rename(path + ".new", path)

    def is_ready(self):
        """Whether nothing is prepared beside the steps any more: what imports meanwhile slows them, and the pace is taken from them."""
        journals = glob.glob(os.path.join(self.place, "logs/*/journal.ndjson"))
        return self.launcher != "fermi" or any(len(events(journal, "rank.parked")) >= WORLD for journal in journals)

    def failures(self):
        """When which rank was said to be why an attempt failed, and by what."""
        if self.launcher == "fermi":
            journals = glob.glob(os.path.join(self.place, "logs/*/journal.ndjson"))
            failed = [row for journal in journals for row in events(journal, "attempt.failed")]
            return [(row["timeMs"] / 1e3, *blamed(row["verdict"])) for row in failed]
        pattern = r"[EW](\d{4} \d\d:\d\d:\d\d\.\d+).*?failed \(exitcode: (-?\d+)\) local_rank: (\d)"
        year = time.strftime("%Y")
        return [(time.mktime(time.strptime(year + at.split(".")[0], "%Y%m%d %H:%M:%S")), int(rank), exit_of(int(code)))
                for at, code, rank in re.findall(pattern, text(self.log))]

    def end(self):
        """Ends it; the answer is how many of its processes were left."""
        self.run.send_signal(signal.SIGTERM)
        try:
            self.run.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.run.kill()
            self.run.wait()
        time.sleep(1)
        left = marked(self.mark)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return len(left)


def play(launcher, fermi, python, plan, seconds):
    """One training under all faults of the plan."""
    with tempfile.TemporaryDirectory(prefix="fermi-chaos-", ignore_cleanup_errors=True) as place:
        job = Job(place, launcher, fermi, python)
        try:
            try:
                wait_for(lambda: len(job.steps()) >= 20 and job.is_ready(), LONGEST_START_S)
            except TimeoutError as error:
                raise TimeoutError(f"{launcher} has not begun: {text(job.log)[-2000:]}") from error
            time.sleep(QUIET_S)
            began = time.time()
            before = [row for row in job.steps() if row[0] >= began - QUIET_S]
            pace = statistics.median(b[0] - a[0] for a, b in zip(before, before[1:]))
            reached = job.steps()[-1][1]
            for fault in plan:
                time.sleep(max(0.0, began + fault["at"] - time.time()))
                job.hit(fault["kind"], fault["rank"])
                fault[launcher] = time.time() - began
            time.sleep(max(0.0, began + seconds - time.time()))
            steps, ended, failures = job.steps(), time.time(), job.failures()
        finally:
            left = job.end()
        newest = max(step for _, step in steps)
        right = name_faults(launcher, failures, plan, began)
        curve = highest([(at - began, step - reached) for at, step in steps if at >= began])
        return {"productive": (newest - reached) * pace / (ended - began), "stepMs": pace * 1e3, "steps": newest - reached,
                "named": right, "left": left, "curve": curve}


def blamed(verdict):
    """Which rank a verdict names, and by what: an exit, or a hang."""
    first = verdict["first"] or {}
    if (verdict["diagnosis"] or {}).get("id") == "hang":
        return first.get("rank"), "hang"
    exit = first.get("exit") or {}
    return first.get("rank"), {key: exit[key] for key in ("signal", "code") if key in exit}


def exit_of(code):
    """An exit code as torchrun writes it."""
    return {"signal": -code} if code < 0 else {"code": code}


def name_faults(launcher, failures, plan, began):
    """Writes into the plan what followed each fault before the next one; the answer is how many were named right."""
    times = [began + fault[launcher] for fault in plan] + [float("inf")]
    for fault, since, until in zip(plan, times, times[1:]):
        # torchrun's times are whole seconds.
        told = [(rank, what) for at, rank, what in failures if since - 1 <= at < until - 1]
        fault[f"{launcher}Told"] = told
        fault[f"{launcher}Named"] = (fault["rank"], EXITS.get(fault["kind"], "hang")) in told
    return sum(fault[f"{launcher}Named"] for fault in plan)


def highest(steps):
    """A tenth of the points of the curve: the highest step that was reached until then."""
    curve, top = [], 0
    for at, step in steps:
        if step > top:
            top = step
            curve.append((round(at, 2), step))
    return curve[:: max(1, len(curve) // 400)] + curve[-1:]


def chart(results, plan, seconds, path):
    """Steps that count over time, with the faults; plain SVG that reads on light and dark pages."""
    width, height, left, top = 860, 360, 60, 30
    most = max(seconds * 1e3 / min(result["stepMs"] for result in results.values()), 1)
    x = lambda at: left + at / seconds * (width - left - 20)  # noqa: E731
    y = lambda step: height - 40 - step / most * (height - 40 - top)  # noqa: E731
    colors = {"fermi": "#2563eb", "torchrun": "#d97706"}
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for fault in plan:
        color = "#dc2626" if fault["kind"] in CRASHES else "#7c3aed"
        parts.append(f'<line x1="{x(fault["at"]):.1f}" x2="{x(fault["at"]):.1f}" y1="{top}" y2="{height - 40}" stroke="{color}" stroke-opacity="0.3"/>')
    parts.append(f'<line x1="{x(0)}" y1="{y(0)}" x2="{x(seconds)}" y2="{y(most):.1f}" stroke="#9ca3af" stroke-dasharray="4 4"/>')
    for row, (launcher, result) in enumerate(results.items()):
        points = " ".join(f"{x(at):.1f},{y(step):.1f}" for at, step in [(0, 0), *result["curve"], (seconds, result["steps"])])
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colors[launcher]}" stroke-width="2"/>')
        words = f'{launcher}: {result["productive"] * 100:.1f} % productive, {result["named"]} of {len(plan)} named'
        parts.append(f'<text x="{left + 10}" y="{top + 14 + 16 * row}" fill="{colors[launcher]}">{words}</text>')
    parts += [f'<line x1="{left}" y1="{height - 40}" x2="{width - 20}" y2="{height - 40}" stroke="#374151"/>',
              f'<text x="{left}" y="{height - 22}" fill="#374151">0</text>',
              f'<text x="{width - 20}" y="{height - 22}" text-anchor="end" fill="#374151">{seconds / 60:g} min</text>',
              f'<text x="{left}" y="18" fill="#374151">steps that count; red: a crash, violet: a hang; dashed: no faults</text>',
              f'<text x="{left - 6}" y="{y(most) + 4:.1f}" text-anchor="end" fill="#374151">{most:.0f}</text>', "</svg>"]
    with open(path, "w") as file:
        file.write("\n".join(parts) + "\n")


def main():
    """Plays the faults under each launcher."""
    fermi, python, *rest = sys.argv[1:]
    minutes, between_s, seed = (float(word) if word else usual for word, usual in zip([*rest, "", "", ""], (30, 60, 1)))
    launchers = rest[3].split(",") if len(rest) > 3 and rest[3] else ["fermi", "torchrun"]
    wanted = rest[4] if len(rest) > 4 and rest[4] else "both"
    plan, seconds = schedule(minutes, between_s, int(seed), wanted), minutes * 60
    results = {}
    for launcher in launchers:
        results[launcher] = result = play(launcher, fermi, python, plan, seconds)
        print(f"{launcher:9} productive {result['productive'] * 100:5.1f} %   steps {result['steps']:6}   pace {result['stepMs']:.0f} ms   "
              f"named {result['named']} of {len(plan)}   left {result['left']}", flush=True)
    if "fermi" in results and wanted in BOUNDS:
        held = results["fermi"]["productive"] >= BOUNDS[wanted]
        held = held and results["fermi"]["named"] == len(plan) and results["fermi"]["left"] == 0
        print(f"{'ok' if held else 'MISS'}: at least {BOUNDS[wanted] * 100:g} % productive, every fault named, nothing left")
    folder = os.path.join(ROOT, "bench-results")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "chaos.json"), "w") as file:
        json.dump({"minutes": minutes, "between": between_s, "seed": seed, "kinds": wanted, "faults": plan, "results": results,
                   "cores": os.cpu_count()}, file, indent=1)
    chart(results, plan, seconds, os.path.join(folder, "chaos.svg"))


if __name__ == "__main__":
    main()
