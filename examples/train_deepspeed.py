"""Training with DeepSpeed, ZeRO-1, 2 or 3.

    fermi run --nproc-per-node 2 examples/train_deepspeed.py --zero-stage 3 --steps 60
    deepspeed --num_gpus 2 examples/train_deepspeed.py --deepspeed_config configs/deepspeed/zero2.json

The configuration is --deepspeed_config, else FERMI_CONFIG_FILE where the launcher wrote one, else a small one of its own.
"""

import argparse
import json
import os
import signal
from pathlib import Path

import deepspeed
import torch
import torch.distributed as dist
from torch import nn

from checkpoints import CHECKPOINTS, RESTARTS, SHARED, chosen, saves, withdraw_later
from reporting import report
from words import CRASH, SAVE_EVERY, STEPS, Arguments, resumed, say

WIDTH = 64


def without_auto(section: dict) -> dict:
    """DeepSpeed itself does not know "auto"; leaving a key out means its own value."""
    known = {key: value for key, value in section.items() if value != "auto"}
    return {key: without_auto(value) if isinstance(value, dict) else value for key, value in known.items()}


def configuration(args: argparse.Namespace) -> dict:
    path = args.deepspeed_config or os.environ.get("FERMI_CONFIG_FILE")
    if path:
        config = without_auto(json.loads(Path(path).read_text()))
        config.setdefault("train_micro_batch_size_per_gpu", args.batch_size)
    else:
        config = {
            "train_micro_batch_size_per_gpu": args.batch_size,
            "zero_optimization": {"stage": args.zero_stage},
            "optimizer": {"type": "AdamW", "params": {"lr": 3e-3, "torch_adam": True}},
        }
    if not torch.cuda.is_available():
        # The formats and the pinned memory of GPUs.
        config.get("fp16", {})["enabled"] = False
        for key in ("offload_optimizer", "offload_param"):
            config["zero_optimization"].get(key, {}).pop("pin_memory", None)
    if not SHARED:
        # What rank 0 alone would write is then written by the first rank of every node.
        config.setdefault("checkpoint", {})["use_node_local_storage"] = True
    config.setdefault("steps_per_print", 1_000_000)
    return config


def main() -> None:
    arguments = Arguments(say("DeepSpeed：ZeRO 各阶段与检查点", "DeepSpeed with its ZeRO stages and checkpoints"))
    arguments.add_argument("--deepspeed_config", help=say("DeepSpeed 的 JSON 配置", "a JSON of DeepSpeed's"))
    arguments.add_argument("--zero-stage", type=int, default=2, choices=[0, 1, 2, 3], help=say("ZeRO 阶段", "ZeRO stage"))
    arguments.add_argument("--batch-size", type=int, default=16, help=say("每个 rank 的样本数", "samples of each rank"))
    arguments.add_argument("--steps", type=int, default=60, help=STEPS)
    arguments.add_argument("--save-every", type=int, default=20, help=SAVE_EVERY)
    arguments.add_argument("--crash-at", type=int, help=CRASH)
    arguments.add_argument("--local_rank", type=int, help=say("由 DeepSpeed 的启动器给出，与 LOCAL_RANK 相同", "from DeepSpeed's launcher; LOCAL_RANK says the same"))
    args = arguments.parse_args()
    deepspeed.init_distributed()
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(4)]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, 1))
    config = configuration(args)
    engine, optimizer, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    step = 0
    if done := chosen("step-*/complete"):
        _, state = engine.load_checkpoint(str(CHECKPOINTS), tag=done.parent.name)
        step = state["step"]
        print(resumed(rank, step), flush=True)
    withdraw_later(step, rank)
    micro, passes = engine.train_micro_batch_size_per_gpu(), engine.gradient_accumulation_steps()
    dtype = next(engine.module.parameters()).dtype
    generator = torch.Generator()
    while step < args.steps:
        for part in range(passes):
            generator.manual_seed((step * passes + part) * world + rank)
            x = torch.randn(micro, WIDTH, generator=generator).to(engine.device, dtype)
            loss = nn.functional.mse_loss(engine(x), x.mean(1, keepdim=True) * 4)
            engine.backward(loss)
            engine.step()
        step += 1
        if step == args.crash_at and rank == world - 1 and RESTARTS == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        mean = loss.detach().float().clone()
        dist.all_reduce(mean)
        if rank == 0:
            report(step, args.steps, mean.item() / world, aloud=step % args.save_every == 0)
        if step % args.save_every == 0:
            tag = f"step-{step:06d}"
            engine.save_checkpoint(str(CHECKPOINTS), tag=tag, client_state={"step": step})
            # DeepSpeed names its latest before every rank has written its part, and then waits for all of them.
            if saves(rank):
                (CHECKPOINTS / tag / "complete").touch()
    batch, stage = engine.train_batch_size(), engine.zero_optimization_stage()
    with deepspeed.zero.GatheredParameters(list(engine.module.parameters()), enabled=stage == 3):
        checksum = sum(parameter.double().sum().item() for parameter in engine.module.parameters())
    print(f"[Rank {rank}] done: step {step}, parameters {checksum:.6f}, ZeRO-{stage}, batch {batch}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    # gloo's threads outlive their group; one that still runs when the interpreter ends would abort a finished rank.
    os._exit(0)
