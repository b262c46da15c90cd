"""A small data-parallel training as people write it for torchrun: it knows nothing of Fermi.

Prints one line per rank: `final rank R of W loss L weights S`, where L is the mean over ranks and S the sum of all
parameters, so that equal lines mean that all ranks have the same model.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--fail", metavar="RANK:STEP", help="raise on this rank at this step")
    return parser.parse_args()


def fail_if_asked(fault, rank, step):
    if fault == f"{rank}:{step}":
        raise RuntimeError(f"asked to fail on rank {rank} at step {step}")


def main():
    args = arguments()
    torch.manual_seed(7)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if not dist.is_torchelastic_launched():
        raise SystemExit("torch does not see that a launcher started it")
    print(f"store at {os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}, restart "
          f"{os.environ['TORCHELASTIC_RESTART_COUNT']}", flush=True)
    layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    samples = torch.Generator().manual_seed(100 + rank)
    for step in range(args.steps):
        fail_if_asked(args.fail, rank, step)
        inputs = torch.randn(32, 16, generator=samples)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs.mean(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    weights = sum(parameter.double().sum().item() for parameter in model.parameters())
    print(f"final rank {rank} of {world} loss {mean.item() / world:.8f} weights {weights:.8f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
