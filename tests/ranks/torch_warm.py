"""A training that goes on from its checkpoint after a restart, and tells what a rank finds around itself.

usage: torch_warm.py FOLDER
Rank 0 saves once, after SAVED_AT steps; the first attempt then steps until it is killed. Later attempts take five steps
from the checkpoint with their losses as hexadecimal numbers in FOLDER/losses-ATTEMPT-RANK, and go on until FOLDER/end
exists. What each rank finds is in FOLDER/found-ATTEMPT-RANK, the time of its first step in FOLDER/step-ATTEMPT-RANK.
"""

import json
import os
import resource
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist

SAVED_AT = 5


def found():
    main = sys.modules["__main__"]
    with open("/proc/self/cmdline") as cmdline, open("/proc/self/oom_score_adj") as badness:
        words, adjusted = cmdline.read(), badness.read()
    links = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    # The listing itself has one that is gone by now.
    kinds = sorted(os.path.basename(link).partition(":")[0] for link in links if not os.path.basename(link).isdigit())
    return {
        "environ": dict(os.environ),
        "argv": sys.argv,
        "orig_argv": sys.orig_argv,
        "cmdline": words,
        "path": sys.path,
        "folder": os.getcwd(),
        "main": [sorted(vars(main)), str(main.__file__), str(main.__spec__), type(main.__loader__).__name__],
        "files": kinds,
        "threads": [threading.active_count(), len(os.listdir("/proc/self/task"))],
        "signals": [str(signal.getsignal(number)) for number in (1, 2, 10, 12, 15)],
        "limits": [resource.getrlimit(which) for which in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE)],
        "badness": adjusted,
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "session": os.getsid(0) == os.getpid(),
        "finders": [str(finder).partition(" at ")[0] for finder in sys.meta_path],
        "customized": "sitecustomize" in sys.modules,
        "cgroup": open("/proc/self/cgroup").read(),
        "terminal": [stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)],
        "buffering": [sys.stdout.line_buffering, sys.stdout.write_through],
    }


def main():
    folder = sys.argv[1]
    attempt, rank = os.environ["FERMI_ATTEMPT"], os.environ["RANK"]

    def write(name, text):
        with open(os.path.join(folder, f"{name}-{attempt}-{rank}"), "w") as file:
            file.write(text)

    dist.init_process_group("gloo")
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    path = os.path.join(os.environ["FERMI_CHECKPOINT_DIR"], "state.pt")
    step, losses = 0, []
    if os.environ.get("FERMI_RESUME") == "1":
        state = torch.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    while attempt == "1" or len(losses) < 5 or not os.path.exists(os.path.join(folder, "end")):
        step += 1
        generator = torch.Generator().manual_seed(1000 * step + int(rank))
        optimizer.zero_grad()
        loss = (model(torch.randn(8, 16, generator=generator)) + torch.rand(1)).pow(2).mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        losses.append(loss.item().hex())
        if len(losses) == 1:
            write("step", str(time.monotonic_ns()))
            # Not before: a library that is imported by the first step may set a variable.
            write("found", json.dumps(found()))
        if len(losses) == 5:
            write("losses", "\n".join(losses))
        if attempt == "1" and step == SAVED_AT and rank == "0":
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            torch.save(state, path + ".new")
            os.replace(path + ".new", path)
        time.sleep(0.02)
    os._exit(0)


if __name__ == "__main__":
    main()
