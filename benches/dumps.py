"""How long `fermi doctor hang` takes for the flight records of 1,024 ranks, of which one is behind.

usage: dumps.py FERMI [FORMAT]
FORMAT: json or pickle, both where nothing is said. Each record has the 2,000 collectives that torch keeps. Those of all ranks but one
are links to one file: what is read is as much, what lies on the disk is not. Prints the seconds and writes
bench-results/dumps.json; fails where a run takes longer than LONGEST_S or names another rank.
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RANKS, CULPRIT, COLLECTIVES = 1_024, 700, 2_000
LONGEST_S, TRIES = 2.0, 3


def record(last, has_frames):
    """What a rank tells that has begun so many collectives and waits in the last one."""
    first = last - COLLECTIVES + 1
    frames = [{"name": "all_reduce", "filename": "/opt/venv/lib/torch/distributed/distributed_c10d.py", "line": 2501}]
    return {
        "version": "2.10",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": json.dumps(list(range(RANKS)))}},
        "pg_status": {"0": {"last_enqueued_collective": last, "last_started_collective": last, "last_completed_collective": 8_999}},
        "entries": [{
            **({"frames": frames} if has_frames else {}),
            "record_id": seq, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": seq, "p2p_seq_id": 0,
            "op_id": seq, "profiling_name": "nccl:all_reduce", "time_created_ns": 1_795_124_411_313_505_443 + seq,
            "input_sizes": [[4_096, 4_096]], "input_dtypes": ["BFloat16"], "output_sizes": [[4_096, 4_096]],
            "output_dtypes": ["BFloat16"], "state": "completed" if seq < 9_000 else "started",
            "time_discovered_started_ns": None, "time_discovered_completed_ns": None, "retired": seq < 9_000,
            "timeout_ms": 600_000, "is_p2p": False,
        } for seq in range(first, last + 1)],
    }


def write(path, kind, last):
    """One record in the form in which torch writes it."""
    with open(path, "wb") as file:
        if kind == "json":
            file.write(json.dumps(record(last, False)).encode())
        else:
            pickle.dump(record(last, True), file, protocol=2)


def seconds(fermi, kind):
    """The best of some tries, and whether the rank is right."""
    with tempfile.TemporaryDirectory(prefix="fermi-dumps-") as folder:
        name = os.path.join(folder, "nccl_trace_rank_{}").format
        for rank, last in ((0, 9_000), (CULPRIT, 8_999)):
            write(name(rank), kind, last)
        for rank in range(1, RANKS):
            if rank != CULPRIT:
                os.link(name(0), name(rank))
        took = []
        for _ in range(TRIES):
            began = time.monotonic()
            said = subprocess.run([fermi, "doctor", "hang", folder, "--json"], stdout=subprocess.PIPE, check=True)
            took.append(time.monotonic() - began)
        verdict = json.loads(said.stdout)["report"]["verdict"]
        size = os.path.getsize(name(0)) * RANKS
    return {"seconds": min(took), "megabytes": size / 1e6, "right": (verdict or {}).get("ranks") == [CULPRIT]}


def main():
    """Measures both."""
    fermi, *kinds = sys.argv[1:]
    results = {kind: seconds(fermi, kind) for kind in kinds or ("json", "pickle")}
    for kind, result in results.items():
        held = result["right"] and result["seconds"] <= LONGEST_S
        print(f"{kind:7} {result['seconds']:5.2f} s for {RANKS} records of {result['megabytes'] / RANKS:.2f} MB   "
              f"{'ok' if held else 'MISS'}: the rank that is behind, within {LONGEST_S:g} s")
    folder = os.path.join(ROOT, "bench-results")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "dumps.json"), "w") as file:
        json.dump({"cores": os.cpu_count(), **results}, file, indent=1)
    sys.exit(any(not result["right"] or result["seconds"] > LONGEST_S for result in results.values()))


if __name__ == "__main__":
    main()
