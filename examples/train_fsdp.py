"""Fully sharded training with PyTorch FSDP2, on GPUs or CPUs; checkpoints are sharded too.

    fermi run --nproc-per-node 2 examples/train_fsdp.py --steps 60
    torchrun --nproc-per-node 2 examples/train_fsdp.py --steps 60

Reads FERMI_CONFIG_FILE (fsdp_config.json) where the launcher wrote one: sharding strategy, mesh, precision, offload.
"""

import json
import os
import shutil
import signal
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard

from checkpoints import CHECKPOINTS, RESTARTS, SHARED, chosen, saves
from reporting import report
from words import CRASH, SAVE_EVERY, STEPS, Arguments, resumed, say

WIDTH = 64


def settings() -> dict:
    path = os.environ.get("FERMI_CONFIG_FILE", "")
    return json.loads(Path(path).read_text()) if path.endswith(".json") else {}


def shard(model: nn.Sequential, device: str, config: dict) -> nn.Module:
    """Divides each layer and then the whole. FSDP1's names of strategies stand for FSDP2's settings."""
    split = config.get("device_mesh")
    if split:
        mesh = init_device_mesh(device, (split["replicate"], split["shard"]), mesh_dim_names=("replicate", "shard"))
    else:
        mesh = init_device_mesh(device, (dist.get_world_size(),))
    precision = config.get("mixed_precision", {})
    param = getattr(torch, precision.get("param_dtype", "float32"))
    reduce = getattr(torch, precision.get("reduce_dtype", "float32"))
    policy = {
        "mesh": mesh,
        "reshard_after_forward": config.get("reshard_after_forward", True),
        "mp_policy": MixedPrecisionPolicy(param_dtype=param, reduce_dtype=reduce, output_dtype=torch.float32),
        "offload_policy": CPUOffloadPolicy() if config.get("offload_params") and device == "cuda" else OffloadPolicy(),
    }
    for layer in model:
        fully_shard(layer, **policy)
    return fully_shard(model, **policy)


def save(step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Every rank writes its part; the folder gets its name when all are done."""
    rank = dist.get_rank()
    draft, folder = CHECKPOINTS / ".draft", CHECKPOINTS / f"step-{step:06d}"
    if saves(rank):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
    dist.barrier()
    if SHARED:
        parameters, states = get_state_dict(model, optimizer)
        dcp.save({"model": parameters, "optimizer": states, "step": step}, checkpoint_id=draft)
    else:
        # A part that lies on another node cannot be read: each rank keeps all that is its own.
        own = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save(own, draft / f"rank-{rank}.pt")
        dist.barrier()
    if saves(rank):
        (draft / "complete").touch()
        # A step that is done again, after another node has lost it, takes the place of the first.
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    dist.barrier()


def load(model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    folder, rank = chosen("step-*"), dist.get_rank()
    if not folder:
        return 0
    if SHARED:
        parameters, states = get_state_dict(model, optimizer)
        state = {"model": parameters, "optimizer": states, "step": 0}
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    else:
        state = torch.load(folder / f"rank-{rank}.pt", weights_only=False)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    print(resumed(rank, state["step"], folder.name), flush=True)
    return state["step"]


def main() -> None:
    arguments = Arguments(say("PyTorch FSDP2：每个 rank 只保存自己的分片", "PyTorch FSDP2, each rank saving its own shards"))
    arguments.add_argument("--steps", type=int, default=60, help=STEPS)
    arguments.add_argument("--save-every", type=int, default=20, help=SAVE_EVERY)
    arguments.add_argument("--crash-at", type=int, help=CRASH)
    args = arguments.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group(os.environ.get("FERMI_BACKEND") or ("nccl" if device == "cuda" else "gloo"))
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(4)]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, 1)).to(device)
    whole = sum(parameter.numel() for parameter in model.parameters())
    model = shard(model, device, settings())
    mine = sum(parameter.to_local().numel() for parameter in model.parameters())
    if world > 1 and mine >= whole:
        raise RuntimeError(f"nothing is sharded: this rank holds all {whole} parameters")
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    step = load(model, optimizer)
    # Batches follow from rank and step alone, so that a resumed training sees what it would have seen.
    generator = torch.Generator()
    batch = int(os.environ.get("FERMI_MICRO_BATCH_SIZE", "64"))
    passes = int(os.environ.get("FERMI_GRADIENT_ACCUMULATION_STEPS", "1"))
    while step < args.steps:
        for index in range(passes):
            generator.manual_seed((step * passes + index) * world + rank)
            x = torch.randn(batch, WIDTH, generator=generator).to(device)
            model.set_requires_gradient_sync(index == passes - 1)
            loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True) * 4)
            (loss / passes).backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        if step == args.crash_at and rank == world - 1 and RESTARTS == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            report(step, args.steps, mean.item() / world, aloud=step % args.save_every == 0)
        if step % args.save_every == 0:
            save(step, model, optimizer)
    checksum = sum(parameter.full_tensor().double().sum().item() for parameter in model.parameters())
    print(f"[Rank {rank}] done: step {step}, parameters {checksum:.6f}, holds {mine} of {whole}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    # gloo's threads outlive their group; one that still runs when the interpreter ends would abort a finished rank.
    os._exit(0)
