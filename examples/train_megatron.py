"""A tiny GPT on megatron-core with tensor parallelism, by Megatron-LM's argument names.

    fermi run --nproc-per-node 2 examples/train_megatron.py --tensor-model-parallel-size 2
    torchrun --nproc-per-node 2 examples/train_megatron.py --tensor-model-parallel-size 2

Without CUDA two of megatron-core's calls are replaced (`shim_for_cpu`); that shows the parallel layout, not the speed.
Arguments of Megatron-LM that this example does not know are ignored.
"""

import argparse
import contextlib
import os
import signal
import warnings

import torch
import torch.distributed as dist

from checkpoints import CHECKPOINTS, RESTARTS, SHARED, chosen, saves, withdraw_later
from reporting import report
from words import CRASH, Arguments, resumed, say

warnings.filterwarnings("ignore")
VOCABULARY = 128


def shim_for_cpu() -> None:
    """megatron-core asks for the current CUDA device and forks CUDA's random state even where there is none."""
    import megatron.core.tensor_parallel.random as random

    torch.cuda.current_device = lambda: torch.device("cpu")
    random.CudaRNGStatesTracker.fork = lambda self, name=None: contextlib.nullcontext()


def tiny_gpt(args: argparse.Namespace, cuda: bool) -> torch.nn.Module:
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.transformer.transformer_config import TransformerConfig

    config = TransformerConfig(
        num_layers=args.num_layers, hidden_size=args.hidden_size, num_attention_heads=args.num_attention_heads,
        tensor_model_parallel_size=args.tensor_model_parallel_size, use_cpu_initialization=not cuda,
        pipeline_dtype=torch.float32, attention_dropout=0.0, hidden_dropout=0.0, bias_dropout_fusion=False,
        masked_softmax_fusion=False, bias_activation_fusion=False, gradient_accumulation_fusion=False,
        apply_rope_fusion=False,
    )
    return GPTModel(config=config, transformer_layer_spec=get_gpt_layer_local_spec(), vocab_size=VOCABULARY,
                    max_sequence_length=args.seq_length, position_embedding_type="learned_absolute")


@torch.no_grad()
def checksum(model: torch.nn.Module) -> float:
    """Of the whole model: what is divided is summed over the parts, what every part has is taken as this one has it."""
    from megatron.core import parallel_state as layout

    total = 0.0
    for parameter in model.parameters():
        part = parameter.double().sum()
        if getattr(parameter, "tensor_model_parallel", False):
            dist.all_reduce(part, group=layout.get_tensor_model_parallel_group())
        total += part.item()
    return total


def main() -> None:
    # An argument of Megatron-LM's such as --save is not short for one of these.
    about = say("megatron-core 张量并行；选项与 Megatron-LM 同名", "tensor parallel with megatron-core; options are called as Megatron-LM's")
    arguments = Arguments(about, allow_abbrev=False)
    sizes = {"tensor-model-parallel-size": 1, "pipeline-model-parallel-size": 1, "num-layers": 2, "hidden-size": 32,
             "num-attention-heads": 4, "seq-length": 16, "micro-batch-size": 4, "train-iters": 30, "save-interval": 10}
    for name, usual in sizes.items():
        arguments.add_argument(f"--{name}", type=int, default=usual, help=say(f"默认 {usual}", f"default {usual}"))
    arguments.add_argument("--lr", type=float, default=1e-2, help=say("学习率", "learning rate"))
    arguments.add_argument("--crash-at", type=int, help=CRASH)
    args, _ = arguments.parse_known_args()
    if args.pipeline_model_parallel_size > 1:
        raise SystemExit(say(
            "本示例没有流水线调度：请给 --pipeline-model-parallel-size 1",
            "this example has no pipeline schedule: give --pipeline-model-parallel-size 1",
        ))
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group(os.environ.get("FERMI_BACKEND") or ("nccl" if cuda else "gloo"))
    torch.manual_seed(123)
    from megatron.core import parallel_state as layout

    if not cuda:
        shim_for_cpu()
    layout.initialize_model_parallel(tensor_model_parallel_size=args.tensor_model_parallel_size)
    if cuda:
        from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed

        model_parallel_cuda_manual_seed(123)
    rank, world = dist.get_rank(), dist.get_world_size()
    tensor_rank, data_rank = layout.get_tensor_model_parallel_rank(), layout.get_data_parallel_rank()
    model = tiny_gpt(args, cuda)
    device = torch.device("cuda", torch.cuda.current_device()) if cuda else torch.device("cpu")
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), args.lr)
    step = 0
    # Each tensor parallel part is a file of its own; data parallel copies hold the same.
    if done := chosen("step-*/complete"):
        state = torch.load(done.parent / f"tensor-{tensor_rank}.pt", map_location=device, weights_only=False)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
        print(resumed(rank, step), flush=True)
    withdraw_later(step, rank)
    tokens = torch.randint(0, VOCABULARY, (args.micro_batch_size, args.seq_length + 1),
                           generator=torch.Generator().manual_seed(7 + data_rank)).to(device)
    places = torch.arange(args.seq_length, device=device).unsqueeze(0).expand(args.micro_batch_size, -1)
    mask = torch.triu(torch.ones(args.seq_length, args.seq_length, dtype=torch.bool, device=device), 1)[None, None]
    while step < args.train_iters:
        loss = model(tokens[:, :-1].contiguous(), places, mask, labels=tokens[:, 1:].contiguous()).float().mean()
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad, group=layout.get_data_parallel_group())
                parameter.grad /= layout.get_data_parallel_world_size()
        optimizer.step()
        step += 1
        if step == args.crash_at and rank == world - 1 and RESTARTS == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if rank == 0:
            report(step, args.train_iters, loss.item())
        if step % args.save_interval == 0:
            folder = CHECKPOINTS / f"step-{step:06d}"
            folder.mkdir(parents=True, exist_ok=True)
            if data_rank == 0 or not SHARED:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
                # On a node of its own several ranks may hold the same part: the last one's stands, whole.
                torch.save(state, folder / f"draft-{rank}.pt")
                (folder / f"draft-{rank}.pt").rename(folder / f"tensor-{tensor_rank}.pt")
            dist.barrier()
            if saves(rank):
                (folder / "complete").touch()
            if rank == 0:
                print(f"step {step}/{args.train_iters} loss {loss.item():.4f}", flush=True)
    here = sum(parameter.numel() for parameter in model.parameters())
    print(f"[Rank {rank}] done: step {step}, parameters {checksum(model):.6f}, holds {here}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    # gloo's threads outlive their group; one that still runs when the interpreter ends would abort a finished rank.
    os._exit(0)
