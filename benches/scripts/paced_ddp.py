"""examples/train_ddp.py as it is, with a model that takes 100 ms for a step, as on a GPU, and does what it is told.

usage: paced_ddp.py FOLDER EPOCHS
Where FOLDER/fault-RANK exists, its word says what that rank does in its next step, once: raise, sleep, deadlock, gil, partition.
"""

import ctypes
import os
import socket
import struct
import sys
import threading
import time

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "examples"))

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


def cut_off():
    """Nothing that others send comes through to this rank any more."""
    refuse_all = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(refuse_all))
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                with socket.socket(fileno=os.dup(int(name))) as connection:
                    connection.setsockopt(socket.SOL_SOCKET, 26, program)
        except OSError:
            continue


def fail():
    raise RuntimeError("a batch is not what it should be")


FAULTS = {"raise": fail, "sleep": lambda: time.sleep(36_000), "deadlock": deadlock, "gil": hold_gil, "partition": cut_off}


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
    torch.set_num_threads(1)
    train_ddp(model=Paced(), batch_size=64, epochs=EPOCHS)
    os._exit(0)
