"""A training with steps of about 50 ms in which something goes wrong.

usage: torch_hang.py FOLDER [mismatch|gil]
Rank 0 writes a checkpoint to a file that takes four seconds, after ten steps, and FOLDER/saved is there when it has; its steps
are counted in FOLDER/steps. Rank 1
waits while FOLDER/late exists. All end when FOLDER/end exists. With `mismatch` rank 1 makes another collective than the
others after 40 steps; with `gil` it holds the lock of its interpreter then, in the first attempt alone.
"""

import ctypes
import os
import sys
import time

import torch
import torch.distributed as dist

FOLDER, HOW = sys.argv[1], sys.argv[2:]
GOES_WRONG_AT = 40


class SlowFile:
    def __init__(self):
        self.is_open = False

    def write(self, data):
        if not self.is_open:
            self.is_open = True
            time.sleep(4)
        return len(data)

    def flush(self):
        pass


def exists(name):
    return os.path.exists(os.path.join(FOLDER, name))


def count(step):
    path = os.path.join(FOLDER, "steps")
    with open(path + ".new", "w") as file:
        file.write(str(step))
    os.rename(path + ".new", path)


def comes_late():
    while exists("late"):
        time.sleep(0.05)


def takes_another_turn():
    dist.broadcast(torch.ones(1), 0)


def holds_the_lock():
    library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    for _ in range(2):
        library.pthread_mutex_lock(mutex)


def main():
    dist.init_process_group("gloo")
    rank, is_first = dist.get_rank(), os.environ["FERMI_ATTEMPT"] == "1"
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    step = 0
    while True:
        step += 1
        if rank == 0 and step == 10 and not HOW:
            torch.save(model.state_dict(), SlowFile())
            open(os.path.join(FOLDER, "saved"), "w").close()
        if rank == 1:
            comes_late()
            if HOW == ["mismatch"] and step == GOES_WRONG_AT:
                takes_another_turn()
            if HOW == ["gil"] and is_first and step == GOES_WRONG_AT:
                holds_the_lock()
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        if rank == 0:
            count(step)
        ends = torch.tensor([exists("end")], dtype=torch.int32)
        dist.all_reduce(ends)
        if ends.item() > 0 or HOW == ["gil"] and step > 2 * GOES_WRONG_AT:
            break
        time.sleep(0.04)
    dist.barrier()


if __name__ == "__main__":
    main()
