"""The strategy by its name, and the proof that it does what it says."""

from __future__ import annotations

from ..checkpoints.store import check_shared
from ..environment import Place
from ..messages import Refusal, Text
from ..settings import Run
from .base import Strategy
from .data_parallel import DataParallel
from .fsdp import FullyShard
from .world import World
from .zero import Zero

_KINDS: dict[str, type[Strategy]] = {"single": DataParallel, "ddp": DataParallel, "fsdp": FullyShard, "deepspeed": Zero}


def strategy_of(run: Run, place: Place) -> Strategy:
    """Joins the other ranks, and gives the strategy that the file names."""
    kind = _KINDS[run.strategy]
    world = World(place, run.backend, alone=run.strategy == "single")
    if kind is not DataParallel:
        why = Text(
            " fsdp 和 deepspeed 的检查点分布在所有进程上", "checkpoints of fsdp and deepspeed lie over all ranks"
        )
        check_shared(run, place, why, Text("使用 ddp 策略", "train by ddp"))
    if run.strategy == "fsdp" and run.precision == "fp16":
        raise Refusal(
            Text("fsdp 不支持 fp16：梯度会下溢", "fsdp does not train in fp16: gradients would underflow"),
            Text("请使用 bf16，或 deepspeed、ddp 策略", "take bf16, or train by deepspeed or ddp"),
        )
    world.join(kind.needs_group)
    return kind(run, world)


def prove(strategy: Strategy) -> dict[str, list[int]]:
    """Counts what each rank holds after a step, and refuses to go on under a false name."""
    held = strategy.held()
    parameters = strategy.world.gathered(held.parameters)
    states = strategy.world.gathered(held.states)
    ranks = strategy.world.ranks
    whole = sum(parameter_sizes(strategy)) if ranks > 1 else held.parameters
    if ranks > 1 and strategy.shards_parameters and max(parameters) > whole * 0.75:
        raise _not_sharded(strategy.name, max(parameters), whole)
    if ranks > 1 and strategy.shards_states and states and max(states) > 0.75 * sum(states):
        raise _not_sharded(strategy.name, max(states), sum(states))
    return {"parameters": parameters, "states": states}


def parameter_sizes(strategy: Strategy) -> list[int]:
    """Lists the bytes of each whole parameter, however it is divided."""
    sizes = []
    for parameter in strategy.bare.parameters():
        whole = getattr(parameter, "ds_numel", None) or parameter.numel()
        sizes.append(int(whole) * parameter.element_size())
    return sizes


def _not_sharded(name: str, held: int, whole: int) -> Refusal:
    return Refusal(
        Text(
            f"策略 {name} 没有把模型分开：一个进程持有 {held} 字节，全部为 {whole} 字节",
            f"the strategy {name} does not divide the model: one rank holds {held} of {whole} bytes",
        ),
        Text(
            "请检查 DeepSpeed 或 FSDP 的设置，或使用 ddp", "look at the settings of DeepSpeed or FSDP, or train by ddp"
        ),
    )
