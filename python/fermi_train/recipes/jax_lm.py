"""A language model with JAX: data parallel over all processes, each with its part of the batch.

Reads the same `training.yaml` as the other recipes, and the same prepared data in the same order. Only process 0 shows a
bar, logs to W&B and TensorBoard and saves.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..batch.schedule import factor, warmup_steps
from ..between_steps import check_loss, check_steps
from ..checkpoints.beginning import begun
from ..checkpoints.store import Checkpoint, Note, check_fits
from ..data.arrow import Shards
from ..data.fingerprint import check_everywhere
from ..data.order import NO_SAMPLE, Order, Position, share
from ..data.prepare import prepared_for
from ..environment import Place
from ..folders import Occupied
from ..keys import Keys
from ..messages import Refusal, Text
from ..models.presets import PRESETS
from ..reading import File
from ..report import logs
from ..report.progress import Progress, resident
from ..report.trackers import trackers_of
from ..settings import USUAL_BUCKET_MB, Optimiser, Run, Saving, run_of, source_of
from .jax_model import Shape, logits_of, weights_of

os.environ.setdefault("JAX_CPU_COLLECTIVES_IMPLEMENTATION", "gloo")


def init_distributed_environment(place: Place) -> dict[str, int]:
    """Joins the other processes: Slurm's and OpenMPI's are found by JAX itself, any launcher's variables are told to it."""
    import jax

    if "OMPI_COMM_WORLD_RANK" in os.environ or "SLURM_STEP_NODELIST" in os.environ:
        jax.distributed.initialize()
    elif place.ranks > 1:
        master = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        jax.distributed.initialize(master, place.ranks, place.rank)
    return {"rank": jax.process_index(), "world_size": jax.process_count()}


def train(file: File, place: Place) -> int:
    """Trains; gives the exit code."""
    run = run_of(file, source_of(file.keys))
    file.keys.refuse_left("sft (JAX)", run.strategy)
    shape = _checked(run, file.keys)
    tokenizer = run.source.tokenizer()
    run = replace(run, max_length=min(run.max_length, shape.length))
    prepared = prepared_for(run, run.data.train, tokenizer, run.data.eval_share)
    joined = init_distributed_environment(place)
    # Slurm and OpenMPI set no RANK.
    place = replace(place, rank=joined["rank"], ranks=joined["world_size"])
    check_everywhere(_of_all(prepared.fingerprint))
    folder = Occupied(run.folder) if place.is_first else None
    logs.open_logs(run.folder, place.rank)
    try:
        return _loop(run, place, shape, prepared.train(), prepared.fingerprint)
    finally:
        if folder is not None:
            folder.leave()


def _checked(run: Run, keys: Keys) -> Shape:
    """Refuses what this recipe does not do."""
    name = run.source.name.removeprefix("preset:")
    if name not in PRESETS:
        raise Refusal(
            Text(f"JAX 配方没有模型 “{run.source.name}”", f"the JAX recipe has no model {run.source.name!r}"),
            Text("请使用 preset:tiny 等预设", "give a preset such as preset:tiny"),
        )
    unused = {
        "lora": run.lora is not None,
        "training.distributed_strategy": run.strategy not in ("ddp", "single"),
        "training.gradient_checkpointing": run.gradient_checkpointing,
        "training.mixed_precision": run.precision == "fp16",
        "recipe.dynamic_batch": run.dynamic_batch,
        "recipe.ddp_comm_hook": run.ddp.hook is not None,
        "training.ddp_bucket_cap_mb": run.ddp.bucket_cap_mb != USUAL_BUCKET_MB,
        "training.find_unused_parameters": run.ddp.find_unused,
        "training.ddp_broadcast_buffers": not run.ddp.broadcast_buffers,
        "training.gradient_as_bucket_view": run.ddp.gradient_as_bucket_view,
        "data.eval_share": run.data.eval_share > 0,
        "training.eval_strategy": run.evaluation.strategy != "no",
        "training.optim": not run.optimiser.name.startswith("adamw"),
        "training.dataloader_num_workers": run.loader.workers > 0,
        "training.dataloader_pin_memory": keys.take("training.dataloader_pin_memory") is not None,
    }
    if wrong := [key for key, is_used in unused.items() if is_used]:
        raise Refusal(
            Text(f"JAX 配方不支持 {'、'.join(wrong)}", f"the JAX recipe does not obey {', '.join(wrong)}"),
            Text("请删除这些键", "remove them"),
        )
    shape = PRESETS[name][1]
    return Shape(
        shape["vocab_size"],
        shape["hidden_size"],
        shape["num_hidden_layers"],
        shape["num_attention_heads"],
        shape["max_position_embeddings"],
    )


def _loop(run: Run, place: Place, shape: Shape, samples: Shards, fingerprint: str) -> int:
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    processes, rank = jax.process_count(), jax.process_index()
    _check_devices(run.micro, jax.local_device_count())
    mesh = Mesh(np.array(jax.devices()), ("data",))
    # Micro-batches one after the other, each of them over all devices.
    split, whole = NamedSharding(mesh, PartitionSpec(None, "data")), NamedSharding(mesh, PartitionSpec())
    order = Order(len(samples), run.micro * run.accumulation * processes, run.seed, run.drop_last)
    optimiser, chain = run.optimiser, _chain(run.optimiser)
    store, found = begun(run, place, _barrier)
    step, position, state = _state_of(found, run, shape, chain, fingerprint)
    weights, state = jax.device_put(state, whole)
    total = run.max_steps or step + order.steps_from(position, run.epochs)
    check_steps(total, run.epochs, len(samples))
    warmup = warmup_steps(optimiser.warmup_steps, optimiser.warmup_ratio, total)
    update = jax.jit(partial(_update, shape, chain, run.precision == "bf16"), donate_argnums=(0, 1))
    teller = _Teller(run, place, rank, step, total)
    for indexes, after in order.batches(position):
        if step >= total:
            break
        began = time.monotonic()
        turns = share(indexes, rank, processes, run.micro, run.accumulation)
        parts = [
            jax.make_array_from_process_local_data(split, part) for part in _padded(samples, turns, run.max_length)
        ]
        rate = optimiser.rate * factor(optimiser.schedule, step, total, warmup)
        weights, state, numbers = update(weights, state, rate, *parts)
        # JAX computes behind the script's back; waiting here keeps the processes in step.
        loss, norm, tokens = (float(one.addressable_data(0)) for one in numbers)
        step, position = step + 1, after
        seconds = time.monotonic() - began
        trained = sum(1 for index in indexes if index != NO_SAMPLE)
        teller.step(StepNumbers(step, position.epoch, loss, rate, norm, tokens, trained, seconds))
        check_loss(loss, step, run.precision)
        if _is_due(run.saving, step, total, after):
            note = Note.of(
                run, step, position, processes, order.effective, fingerprint, strategy="jax", model=str(shape)
            )
            saved = (weights, state)
            store.save(note, lambda into, saved=saved: _save(into, saved) if place.saves else None)
    teller.close()
    _barrier()
    if processes > 1:
        jax.distributed.shutdown()
    return 0


def _check_devices(micro: int, devices: int) -> None:
    """Refuses a micro-batch that the devices of a process cannot share."""
    if micro % devices:
        key = "training.per_device_train_batch_size"
        raise Refusal(
            Text(
                f"{key} 是 {micro}，不能平分给本进程的 {devices} 个设备",
                f"{key} is {micro}, which the {devices} devices of this process cannot share",
            ),
            Text(
                f"请使用 {devices} 的倍数，或每个设备一个进程",
                f"take a multiple of {devices}, or one process per device",
            ),
        )


def _chain(optimiser: Optimiser) -> Any:
    import optax

    adamw = optax.inject_hyperparams(optax.adamw)
    return optax.chain(
        optax.clip_by_global_norm(optimiser.max_grad_norm or float("inf")),
        adamw(optimiser.rate, *optimiser.betas, eps=optimiser.epsilon, weight_decay=optimiser.weight_decay),
    )


def _state_of(
    found: Checkpoint | None, run: Run, shape: Shape, chain: Any, fingerprint: str
) -> tuple[int, Position, tuple[Any, Any]]:
    """Gives step, position, and weights with the states of the optimiser: of a checkpoint, else of the beginning."""
    weights = weights_of(shape, run.seed)
    state = (weights, chain.init(weights))
    if found is None:
        return 0, Position(), state
    check_fits(found, run, fingerprint, "jax", str(shape))
    step = found.note.step
    logs.training().info("%s", Text(f"从第 {step} 步继续", f"goes on from step {step}"))
    return step, found.note.position, _restored(found.state / "arrays.npz", state)


def _of_all(mark: str) -> list[str]:
    """Gives the fingerprints of all processes."""
    from jax.experimental import multihost_utils

    own = np.frombuffer(bytes.fromhex(mark), np.uint8)
    every = np.asarray(multihost_utils.process_allgather(own)).reshape(-1, len(own))
    return [one.tobytes().hex() for one in every]


def _barrier() -> None:
    import jax
    from jax.experimental import multihost_utils

    if jax.process_count() > 1:
        multihost_utils.sync_global_devices("checkpoint")


def _is_due(saving: Saving, step: int, total: int, after: Position) -> bool:
    if saving.strategy == "no":
        return False
    # Nothing else is written: what the last steps have learned is in the last checkpoint alone.
    return step == total or (step % saving.steps == 0 if saving.strategy == "steps" else after.offset == 0)


@dataclass(frozen=True)
class StepNumbers:
    """What is told of a step; loss, norm, tokens and samples are those of all processes."""

    step: int
    epoch: int
    loss: float
    rate: float
    grad_norm: float
    tokens: float
    samples: int
    seconds: float


class _Teller:
    """Tells every step to all who listen, without torch."""

    def __init__(self, run: Run, place: Place, rank: int, step: int, total: int) -> None:
        self._log_steps, self._total, self._is_first = run.log_steps, total, rank == 0
        self._progress = Progress(place.progress_file)
        self._trackers = trackers_of(run.trackers, run.folder, run.name) if rank == 0 else []
        self._bar = _bar(total, step) if rank == 0 else None

    def step(self, now: StepNumbers) -> None:
        step, memory = now.step, _memory()
        by_second = {"tokensPerS": now.tokens / now.seconds, "samplesPerS": now.samples / now.seconds}
        self._progress.tell(
            step,
            totalSteps=self._total,
            epoch=now.epoch,
            loss=now.loss,
            lr=now.rate,
            stepTimeS=now.seconds,
            memoryBytes=memory,
            metrics={"grad_norm": now.grad_norm},
            **by_second,
        )
        if self._bar is not None:
            self._bar.update(1)
        if self._is_first and (step % self._log_steps == 0 or step in (1, self._total)):
            numbers = {
                "loss": now.loss,
                "lr": now.rate,
                "grad_norm": now.grad_norm,
                "tokens_per_s": by_second["tokensPerS"],
                "step_time_s": now.seconds,
                "memory_gb": memory / 1e9,
            }
            shown = "  ".join(f"{name} {value:.5g}" for name, value in numbers.items())
            logs.training().info("step %d/%d  %s", step, self._total, shown)
            for tracker in self._trackers:
                tracker.log(step, numbers)

    def close(self) -> None:
        for tracker in self._trackers:
            tracker.close()
        if self._bar is not None:
            self._bar.close()


def _memory() -> int:
    """Counts what is held on the devices of this process; without such a count, what the process has."""
    import jax

    found = [device.memory_stats() for device in jax.local_devices()]
    return sum(int(one.get("bytes_in_use", 0)) for one in found if one) or resident()


def _update(
    shape: Shape, chain: Any, in_bf16: bool, weights: Any, state: Any, rate: Any, ids: Any, mask: Any, counts: Any
) -> tuple[Any, Any, tuple[Any, Any, Any]]:
    """Adds up the gradients of micro-batches, one after the other, and updates; `ids` are micro-batches × samples × tokens."""
    import jax
    import jax.numpy as jnp
    import optax

    learned = jnp.maximum(mask[:, :, 1:].sum(), 1)

    def loss_of(weights: Any, ids: Any, mask: Any) -> Any:
        if in_bf16:
            weights = jax.tree.map(lambda one: one.astype(jnp.bfloat16), weights)
        logits = logits_of(shape, weights, ids)[:, :-1].astype(jnp.float32)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, ids[:, 1:])
        return (losses * mask[:, 1:]).sum() / learned

    def one_more(so_far: Any, micro: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(weights, *micro)
        return (so_far[0] + loss, jax.tree.map(jnp.add, so_far[1], gradients)), None

    nothing = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, weights))
    (loss, gradients), _ = jax.lax.scan(one_more, nothing, (ids, mask))
    state[1].hyperparams["learning_rate"] = jnp.asarray(rate, jnp.float32)
    changes, state = chain.update(gradients, state, weights)
    return optax.apply_updates(weights, changes), state, (loss, optax.global_norm(gradients), counts.sum())


def _padded(samples: Shards, turns: list[list[int]], length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gives tokens, what of them is learned, and how many each sample has, all of one length: JAX compiles once."""
    shape = (len(turns), len(turns[0]))
    ids = np.zeros((*shape, length), np.int32)
    mask, counts = np.zeros((*shape, length), np.float32), np.zeros(shape, np.float32)
    for turn, row in np.ndindex(shape):
        if (index := turns[turn][row]) != NO_SAMPLE:
            sample = samples[index]
            count = min(len(sample["input_ids"]), length)
            ids[turn, row, :count] = sample["input_ids"][:count]
            mask[turn, row, :count] = sample["completion_mask"][:count]
            counts[turn, row] = count
    return ids, mask, counts


def _save(folder: Path, state: Any) -> None:
    import jax

    arrays: dict[str, Any] = {str(n): np.asarray(_own(leaf)) for n, leaf in enumerate(jax.tree.leaves(state))}
    np.savez(folder / "arrays.npz", **arrays)


def _restored(file: Path, like: Any) -> Any:
    import jax

    found = np.load(file)
    leaves, tree = jax.tree.flatten(like)
    return jax.tree.unflatten(tree, [found[str(n)] for n in range(len(leaves))])


def _own(leaf: Any) -> Any:
    return leaf.addressable_data(0) if hasattr(leaf, "addressable_data") else leaf


def _bar(total: int, step: int) -> Any:
    import sys

    if not sys.stderr.isatty():
        return None
    from tqdm import tqdm

    return tqdm(total=total, initial=step, desc="jax", dynamic_ncols=True)
