"""A rank on its GPU for `warm.py`: steps with an all-reduce, told in FOLDER as tests/ranks/torch_warm.py tells them.

usage: warm_rank.py FOLDER
"""

import os
import sys
import time

import torch
import torch.distributed as dist


def main():
    folder, attempt, rank = sys.argv[1], os.environ["FERMI_ATTEMPT"], int(os.environ["RANK"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    # Several ranks of one GPU cannot have NCCL.
    dist.init_process_group("nccl" if dist_fits() else "gloo")
    model = torch.nn.Linear(1024, 1024).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    step = 0
    while not os.path.exists(os.path.join(folder, "end")):
        optimizer.zero_grad()
        model(torch.ones(8, 1024, device=device)).sum().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        torch.cuda.synchronize(device)
        step += 1
        name = {1: "step", 5: "losses"}.get(step)
        if name:
            with open(os.path.join(folder, f"{name}-{attempt}-{rank}"), "w") as file:
                file.write(str(time.monotonic_ns()))
        time.sleep(0.05)


def dist_fits():
    return int(os.environ["WORLD_SIZE"]) <= torch.cuda.device_count()


if __name__ == "__main__":
    main()
