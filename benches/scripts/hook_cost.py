"""One rank that makes steps in blocks, each when it is told to, and writes how long it took.

usage: hook_cost.py FILE STEPS BLOCK
A block begins with the next line of FILE.go; its nanoseconds are the next line of FILE.
"""

import sys
import time

import torch
import torch.distributed as dist

FILE, STEPS, BLOCK = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
WARM_UP = 20


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    batch = torch.ones(64, 512)

    def step():
        optimizer.zero_grad()
        model(batch).sum().backward()
        dist.all_reduce(model[0].bias.grad)
        optimizer.step()

    for _ in range(WARM_UP):
        step()
    with open(FILE + ".ready", "w") as file:
        file.write("ready")
    for turn in range(STEPS // BLOCK):
        while not told(turn):
            time.sleep(0.002)
        began = time.perf_counter_ns()
        for _ in range(BLOCK):
            step()
        took = time.perf_counter_ns() - began
        with open(FILE, "a") as file:
            file.write(f"{took}\n")


def told(turn):
    try:
        with open(FILE + ".go") as file:
            return len(file.read()) > turn
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    main()
