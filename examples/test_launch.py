"""Checks a launch: every rank says where it stands, and all of them can talk to each other.

    fermi run --nproc-per-node 4 --tee 1 examples/test_launch.py
    torchrun --nproc-per-node 4 examples/test_launch.py

Without PyTorch only the first line is printed and the variables are checked.
"""

import os
import sys

LOCALE = next((os.environ[n] for n in ("FERMI_LANG", "LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(n)), "")
NEEDED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def say(zh: str, en: str) -> str:
    return zh if LOCALE[:2].lower() == "zh" else en


def main() -> None:
    missing = [name for name in NEEDED if not os.environ.get(name)]
    if missing:
        names = ", ".join(missing)
        sys.exit(say(f"不是由启动器启动的：没有设置 {names}", f"not started by a launcher: {names} not set"))
    rank, world, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    master = os.environ["MASTER_ADDR"]
    print(f"[Rank {rank}] World Size: {world}, Local Rank: {local}, Master Addr: {master}", flush=True)
    if not 0 <= rank < world:
        sys.exit(say(f"rank {rank} 不在 {world} 个之内", f"rank {rank} is not one of {world}"))
    try:
        import torch
        import torch.distributed as dist
    except ImportError:
        text = say("没有安装 PyTorch：不测试通信", "PyTorch is not installed: communication is not tried")
        print(f"[Rank {rank}] {text}", flush=True)
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
        text = say(f"各 rank 之和为 {total.item()}，应为 {expected}", f"the sum of all ranks is {total.item()}, not {expected}")
        sys.exit(f"[Rank {rank}] {text}")
    text = say(f"{world} 个 rank 在 {device} 上 all-reduce 成功", f"all-reduce over {world} ranks on {device}: ok")
    print(f"[Rank {rank}] {text}", flush=True)


if __name__ == "__main__":
    main()
