"""Checks a launch: every rank says where it stands, and all of them can talk to each other.

    fermi run --nproc-per-node 4 --tee 1 examples/test_launch.py
    torchrun --nproc-per-node 4 examples/test_launch.py

Without PyTorch only the first line is printed and the variables are checked.
"""

import os
import sys

NEEDED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def main() -> None:
    missing = [name for name in NEEDED if not os.environ.get(name)]
    if missing:
        sys.exit(f"not started by a launcher: {', '.join(missing)} not set")
    rank, world, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    master = os.environ["MASTER_ADDR"]
    print(f"[Rank {rank}] World Size: {world}, Local Rank: {local}, Master Addr: {master}", flush=True)
    if not 0 <= rank < world:
        sys.exit(f"rank {rank} is not one of {world}")
    try:
        import torch
        import torch.distributed as dist
    except ImportError:
        print(f"[Rank {rank}] PyTorch is not installed: communication is not tried", flush=True)
        return
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group(os.environ.get("FERMI_BACKEND") or ("nccl" if cuda else "gloo"))
    total = torch.tensor([float(rank)], device=device)
    dist.all_reduce(total)
    expected = world * (world - 1) / 2
    dist.destroy_process_group()
    if total.item() != expected:
        sys.exit(f"[Rank {rank}] the sum of all ranks is {total.item()}, not {expected}")
    print(f"[Rank {rank}] all-reduce over {world} ranks on {device}: ok", flush=True)


if __name__ == "__main__":
    main()
