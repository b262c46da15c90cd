"""A training with steps of 100 ms in which one rank does one of some things that make all others wait.

usage: torch_faults.py FOLDER KIND RANK
After STEPS_BEFORE steps the rank writes the time into FOLDER/began and does what KIND says. The line at which it stands from then
on is marked with the kind, or, where that is the collective in which all are, with `collective`; one that is `stopped` or has left
(`earlyReturn`) was last in `train`.
With `otherGroup` and `oneTooMany` ranks make collectives of groups too: in the first the rank sleeps before the group's, in the
second it makes one too many there. With `circle` ranks 1 and 2 have two groups of their own, and each enters another one first.
`silent` lets everything reach the rank's machine, and nothing the rank.
`diskWait` writes to FOLDER/disk/file, where the caller has mounted a file system that can be frozen, else reads a named pipe.
"""

import ctypes
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time

import torch
import torch.distributed as dist

from cut_off import cut_off

FOLDER, KIND, RANK = sys.argv[1], sys.argv[2], int(sys.argv[3])
STEPS_BEFORE, STEP_S = 30, 0.1


class Batches(torch.utils.data.Dataset):
    """Samples of which one takes for ever, where the data loader is to blame."""

    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        if KIND == "dataLoader" and index == STEPS_BEFORE:
            began()
            threading.Event().wait()
        return torch.ones(4)


def began():
    path = os.path.join(FOLDER, "began")
    with open(path + ".new", "w") as file:
        file.write(str(time.time_ns() // 1_000_000))
    os.rename(path + ".new", path)


def stopped():
    """Soon and from another thread, so that it hits the training wherever it is then."""

    def stop():
        began()
        os.kill(os.getpid(), signal.SIGSTOP)

    threading.Timer(0.25, stop).start()


def gil_held():
    library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)  # at: gilHeld


def sleep():
    time.sleep(3600)  # at: sleep


def deadlock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()  # at: deadlock


def disk_wait():
    path = os.path.join(FOLDER, "disk", "file")
    if os.path.exists(path):
        file = os.open(path, os.O_WRONLY)
        subprocess.run(["fsfreeze", "--freeze", os.path.dirname(path)], check=True)
        os.write(file, b"state")  # at: diskWait
    else:
        path = os.path.join(FOLDER, "pipe")
        os.mkfifo(path)
        file = os.open(path, os.O_RDWR)
        os.read(file, 1)  # at: diskWait


def fails():
    raise ValueError("of a batch that is not what it should be")


def mismatch():
    dist.broadcast(torch.ones(1), 0)  # at: mismatch


def native_spin():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # at: nativeSpin


def silent():
    """The threads that move what comes over the network rest for ever; those of Python, and what the kernel does, go on."""
    libc = ctypes.CDLL(None)
    libc.signal.argtypes = ctypes.c_int, ctypes.c_void_p
    libc.signal(signal.SIGUSR1, ctypes.cast(libc.pause, ctypes.c_void_p))
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/wchan") as file:
            if "ep_poll" in file.read():
                libc.tgkill(os.getpid(), int(thread), signal.SIGUSR1)


def circle():
    pair = [dist.new_group([1, 2]) for _ in range(2)]
    return (pair[:: 1 if dist.get_rank() == 1 else -1], 0) if dist.get_rank() in (1, 2) else (None, 0)


def of_groups():
    """The first two ranks are a group, and the others, which makes more collectives than the first."""
    first, others = dist.new_group([0, 1]), dist.new_group(list(range(2, dist.get_world_size())))
    return (first, 1) if dist.get_rank() < 2 else (others, 3)


def paused_child(loader):
    for worker in loader._workers:
        os.kill(worker.pid, signal.SIGSTOP)


FAULTS = {"stopped": stopped, "gilHeld": gil_held, "sleep": sleep, "deadlock": deadlock, "diskWait": disk_wait,
          "swallowed": fails, "mismatch": mismatch, "partition": cut_off, "nativeSpin": native_spin, "silent": silent}
OF_GROUPS = {"otherGroup": of_groups, "oneTooMany": of_groups, "circle": circle}


def train(rank):
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches, is_culprit = None, rank == RANK
    group, turns = OF_GROUPS.get(KIND, lambda: (None, 0))()
    if is_culprit and KIND in ("dataLoader", "pausedChild"):
        batches = iter(torch.utils.data.DataLoader(Batches(), batch_size=1, num_workers=1))
    for step in range(1_000_000):
        if is_culprit and step == STEPS_BEFORE:
            if KIND not in ("dataLoader", "stopped"):
                began()
            if KIND == "earlyReturn":
                return
            if KIND == "pausedChild":
                paused_child(batches)
            elif KIND == "oneTooMany":
                dist.all_reduce(torch.ones(1), group=group)  # at: oneTooMany
            elif KIND == "otherGroup":
                time.sleep(3600)  # at: otherGroup
            elif KIND in FAULTS:
                FAULTS[KIND]()
        if KIND == "circle" and step == STEPS_BEFORE:
            for one in group or ():
                dist.all_reduce(torch.ones(1), group=one)  # at: circle
        for _ in range(turns):
            dist.all_reduce(torch.ones(1), group=group)  # at: oneTooMany
        batch = torch.ones(2, 4) if batches is None else next(batches)  # at: dataLoader, pausedChild
        optimizer.zero_grad()
        model(batch).sum().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)  # at: collective
        optimizer.step()
        time.sleep(STEP_S)


def main():
    dist.init_process_group("gloo")
    try:
        train(dist.get_rank())
    except ValueError as error:
        print(f"goes on without it: {error}", flush=True)
        dist.barrier()  # at: swallowed


if __name__ == "__main__":
    main()
