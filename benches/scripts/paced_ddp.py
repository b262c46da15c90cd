"""examples/train_ddp.py as it is, with a model that takes 100 ms for a step, as on a GPU, and does what it is told.

usage: paced_ddp.py FOLDER EPOCHS
Where FOLDER/fault-RANK exists, its word says what that rank does in its next step, once: raise, sleep, deadlock, gil, partition.
What a rank finds when it starts was meant for the process before, and is left out: no fault waits for a restart.
FOLDER/pid-RANK has the number of the process that is the rank now: an interpreter that is parked beside it has the same name.
"""

import ctypes
import os
import sys
import threading
import time

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "examples"), os.path.join(ROOT, "tests", "ranks")]

from cut_off import cut_off  # noqa: E402
from train_ddp import train_ddp  # noqa: E402

FOLDER, EPOCHS = sys.argv[1], int(sys.argv[2])
STEP_S = 0.1


def take_fault():
    """What this rank is told, once."""
    path = os.path.join(FOLDER, "fault-" + os.environ["RANK"])
    try:
        with open(path) as file:
            word = file.read()
        os.remove(path)
    except FileNotFoundError:
        return ""
    return word


def deadlock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def hold_gil():
    library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    for _ in range(2):
        library.pthread_mutex_lock(mutex)


def fail():
    raise RuntimeError("a batch is not what it should be")


FAULTS = {"raise": fail, "sleep": lambda: time.sleep(36_000), "deadlock": deadlock, "gil": hold_gil, "partition": cut_off}


def tell_pid():
    path = os.path.join(FOLDER, "pid-" + os.environ["RANK"])
    with open(path + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.replace(path + ".new", path)


class Paced(torch.nn.Module):
    """A small network that rests as long as a large one computes."""

    def __init__(self):
        super().__init__()
        layers = torch.nn.Linear(100, 200), torch.nn.ReLU(), torch.nn.Linear(200, 10)
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, batch):
        FAULTS.get(take_fault(), lambda: None)()
        time.sleep(STEP_S)
        return self.layers(batch)


if __name__ == "__main__":
    tell_pid()
    take_fault()
    torch.set_num_threads(1)
    train_ddp(model=Paced(), batch_size=64, epochs=EPOCHS)
    os._exit(0)
