"""Data parallel training with PyTorch DDP, as a script and as a function.

    fermi run --nproc-per-node 2 examples/train_ddp.py --epochs 5
    torchrun --nproc-per-node 2 examples/train_ddp.py --epochs 5
    python examples/train_ddp.py

    from examples.train_ddp import train_ddp
    train_ddp(model=YourModel(), input_size=100, hidden_size=200, output_size=10, batch_size=32, epochs=10, lr=0.001)
"""

import argparse
import datetime
import json
import os
import signal
import time
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CHECKPOINTS = Path(os.environ.get("FERMI_CHECKPOINT_DIR", "checkpoints"))
RESTARTS = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
RESUME = os.environ.get("FERMI_RESUME", "1" if RESTARTS else "0") == "1"
LOCALE = next((os.environ[n] for n in ("FERMI_LANG", "LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(n)), "")


def say(zh: str, en: str) -> str:
    """In the reader's language; the other examples have this from words.py."""
    return zh if LOCALE[:2].lower() == "zh" else en


def start() -> torch.device:
    """Joins the process group that the launcher describes; alone, a group of one."""
    for name, alone in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
        os.environ.setdefault(name, alone)
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    seconds = int(os.environ.get("FERMI_COLLECTIVE_TIMEOUT", "600"))
    backend = os.environ.get("FERMI_BACKEND") or ("nccl" if cuda else "gloo")
    dist.init_process_group(backend, timeout=datetime.timedelta(seconds=seconds))
    return device


def samples(inputs: int, outputs: int, count: int = 2048) -> TensorDataset:
    """Classes that a linear teacher gives; the same on every rank."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(count, inputs, generator=generator)
    return TensorDataset(x, (x @ torch.randn(inputs, outputs, generator=generator)).argmax(1))


def save(state: dict) -> None:
    """Writes under another name first: a checkpoint is there whole or not at all."""
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    torch.save(state, CHECKPOINTS / "draft.pt")
    (CHECKPOINTS / "draft.pt").rename(CHECKPOINTS / f"step-{state['step']:06d}.pt")


def saves(rank: int) -> bool:
    """One rank saves for each folder: rank 0, and where every node has a folder of its own the first of each node."""
    return rank == 0 or (os.environ.get("FERMI_CHECKPOINT_SHARED") == "0" and os.environ.get("LOCAL_RANK") == "0")


def chosen() -> Path | None:
    """The checkpoint to go on from: the one that every rank is told, else the newest."""
    if not RESUME:
        return None
    if step := os.environ.get("FERMI_RESUME_STEP"):
        return CHECKPOINTS / f"step-{int(step):06d}.pt"
    return max(CHECKPOINTS.glob("step-*.pt"), default=None)


def report(step: int, total: int, epoch: int, loss: float) -> None:
    if path := os.environ.get("FERMI_PROGRESS_FILE"):
        line = {"time": time.time(), "step": step, "totalSteps": total, "epoch": epoch, "loss": loss}
        with open(path, "a") as file:
            file.write(json.dumps(line) + "\n")


def train_ddp(model=None, input_size=100, hidden_size=200, output_size=10, batch_size=32, epochs=10, lr=0.001,
              crash_at=None) -> float:
    """Trains `model`, a small network when none is given, and returns the last loss."""
    device = start()
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    if model is None:
        model = nn.Sequential(nn.Linear(input_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, output_size))
    ddp = DistributedDataParallel(model.to(device), device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr)
    data = samples(input_size, output_size)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size, sampler=sampler, drop_last=True)
    passes = int(os.environ.get("FERMI_GRADIENT_ACCUMULATION_STEPS", "1"))
    step = first = 0
    if checkpoint := chosen():
        state = torch.load(checkpoint, map_location=device)
        ddp.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step, first = state["step"], state["epoch"] + 1
        name = checkpoint.name
        told = say(f"[Rank {rank}] 从第 {step} 步继续（{name}）", f"[Rank {rank}] resumes at step {step} from {name}")
        print(told, flush=True)
    loss = torch.zeros((), device=device)
    for epoch in range(first, epochs):
        sampler.set_epoch(epoch)
        optimizer.zero_grad()
        for index, (x, y) in enumerate(loader, 1):
            is_last = index % passes == 0
            with nullcontext() if is_last else ddp.no_sync():
                loss = nn.functional.cross_entropy(ddp(x.to(device)), y.to(device))
                (loss / passes).backward()
            if not is_last:
                continue
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if rank == 0:
                report(step, epochs * (len(loader) // passes), epoch, loss.item())
            if step == crash_at and rank == world - 1 and RESTARTS == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"epoch {epoch + 1}/{epochs} step {step} loss {mean.item() / world:.4f}", flush=True)
        if saves(rank):
            save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "epoch": epoch})
        dist.barrier()
    checksum = sum(parameter.double().sum().item() for parameter in model.parameters())
    print(f"[Rank {rank}] done: step {step}, parameters {checksum:.6f}", flush=True)
    dist.destroy_process_group()
    return loss.item()


if __name__ == "__main__":
    about = say("PyTorch DDP 数据并行", "data parallel with PyTorch DDP")
    arguments = argparse.ArgumentParser(description=about, add_help=False)
    arguments.add_argument("-h", "--help", action="help", help=say("显示这段帮助并退出", "show this help and leave"))
    arguments.add_argument("--epochs", type=int, default=10, help=say("训练几轮", "epochs to train"))
    batch = int(os.environ.get("FERMI_MICRO_BATCH_SIZE", "32"))
    arguments.add_argument("--batch-size", type=int, default=batch, help=say("每个 rank 的样本数", "samples of each rank"))
    arguments.add_argument("--lr", type=float, default=0.001, help=say("学习率", "learning rate"))
    crash = say("第一次启动到这一步时，最后一个 rank 像被 kill -9 一样消失", "the last rank dies, as by kill -9, at this step in the first attempt")
    arguments.add_argument("--crash-at", type=int, help=crash)
    of_old = say("旧的启动器会给出，不需要", "from launchers of old; not needed")
    arguments.add_argument("--local-rank", "--local_rank", type=int, help=of_old)
    args = arguments.parse_args()
    train_ddp(batch_size=args.batch_size, epochs=args.epochs, lr=args.lr, crash_at=args.crash_at)
    # gloo's threads outlive their group; one that still runs when the interpreter ends would abort a finished rank.
    os._exit(0)
