"""Data parallel training with Horovod and PyTorch.

    fermi task create … --framework horovod -- examples/train_horovod.py      (Fermi serves the rendezvous)
    horovodrun --gloo -np 2 python examples/train_horovod.py
"""

import os
import signal

import horovod.torch as hvd
import torch
from torch import nn

from checkpoints import CHECKPOINTS, RESTARTS, chosen, saves
from reporting import report
from words import CRASH, SAVE_EVERY, STEPS, Arguments, resumed, say

WIDTH = 32


def save(state: dict) -> None:
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    torch.save(state, CHECKPOINTS / "draft.pt")
    (CHECKPOINTS / "draft.pt").rename(CHECKPOINTS / f"step-{state['step']:06d}.pt")


def main() -> None:
    arguments = Arguments(say("Horovod 数据并行", "data parallel with Horovod"))
    arguments.add_argument("--steps", type=int, default=100, help=STEPS)
    arguments.add_argument("--save-every", type=int, default=20, help=SAVE_EVERY)
    arguments.add_argument("--crash-at", type=int, help=CRASH)
    args = arguments.parse_args()
    hvd.init()
    rank, world = hvd.rank(), hvd.size()
    device = torch.device("cuda", hvd.local_rank()) if torch.cuda.is_available() else torch.device("cpu")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
    inner = torch.optim.SGD(model.parameters(), 1e-2 * world)
    step = 0
    checkpoint = chosen("step-*.pt") if rank == 0 else None
    if checkpoint:
        state = torch.load(checkpoint, map_location=device)
        model.load_state_dict(state["model"])
        inner.load_state_dict(state["optimizer"])
        step = state["step"]
    # Rank 0 alone reads the checkpoint; the others get it from there.
    step = hvd.broadcast_object(step, root_rank=0)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(inner, root_rank=0)
    optimizer = hvd.DistributedOptimizer(inner, named_parameters=model.named_parameters())
    if step:
        print(resumed(rank, step), flush=True)
    generator = torch.Generator()
    while step < args.steps:
        generator.manual_seed(step * world + rank)
        x = torch.randn(64, WIDTH, generator=generator).to(device)
        loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True) * 4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step == args.crash_at and rank == world - 1 and RESTARTS == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if rank == 0:
            report(step, args.steps, loss.item(), aloud=step % args.save_every == 0)
        if step % args.save_every == 0 and saves(rank):
            save({"model": model.state_dict(), "optimizer": inner.state_dict(), "step": step})
    checksum = sum(parameter.double().sum().item() for parameter in model.parameters())
    print(f"[Rank {rank}] done: step {step}, parameters {checksum:.6f}", flush=True)
    hvd.shutdown()


if __name__ == "__main__":
    main()
