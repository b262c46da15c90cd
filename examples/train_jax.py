"""Data parallel training with JAX over several processes.

    fermi task create … --framework jax -- examples/train_jax.py
    fermi run --nproc-per-node 2 examples/train_jax.py
    mpirun -np 2 python examples/train_jax.py

Process-aware: only process 0 prints, writes progress and saves checkpoints, and where nodes share no folder the first
process of each node saves too; the batch is split by the process count.
"""

import os
import signal
import traceback

import numpy as np

# A launcher that gives ranks but no platform is one for CPUs here, unless a GPU is wanted explicitly.
os.environ.setdefault("JAX_CPU_COLLECTIVES_IMPLEMENTATION", "gloo")
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from checkpoints import CHECKPOINTS, RESTARTS, chosen, saves
from reporting import report
from words import CRASH, SAVE_EVERY, STEPS, Arguments, resumed, say

WIDTH = 32


def init_distributed_environment() -> dict:
    """Joins the other processes. JAX finds its cluster by itself (Slurm, OpenMPI, Fermi's framework jax); a launcher
    that only sets torchrun's variables is told to it."""
    if "OMPI_COMM_WORLD_RANK" in os.environ or "SLURM_STEP_NODELIST" in os.environ:
        jax.distributed.initialize()
    elif int(os.environ.get("WORLD_SIZE", "1")) > 1:
        master = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        jax.distributed.initialize(master, int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"]))
    return {"rank": jax.process_index(), "world_size": jax.process_count()}


def save(step: int, weights: dict) -> None:
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    arrays = {name: np.asarray(value.addressable_data(0)) for name, value in weights.items()}
    with open(CHECKPOINTS / "draft.npz", "wb") as file:
        np.savez(file, step=step, **arrays)
    (CHECKPOINTS / "draft.npz").rename(CHECKPOINTS / f"step-{step:06d}.npz")


def loss_of(weights: dict, x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean((jax.nn.relu(x @ weights["in"]) @ weights["out"] - y) ** 2)


@jax.jit
def update(weights: dict, x: jax.Array, y: jax.Array) -> tuple[dict, jax.Array]:
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree.map(lambda weight, gradient: weight - 0.05 * gradient, weights, gradients), loss


def main() -> None:
    arguments = Arguments(say("JAX 多进程数据并行", "data parallel with several JAX processes"))
    arguments.add_argument("--steps", type=int, default=100, help=STEPS)
    arguments.add_argument("--batch-size", type=int, default=128, help=say("所有进程合计的样本数", "samples of all processes together"))
    arguments.add_argument("--save-every", type=int, default=20, help=SAVE_EVERY)
    arguments.add_argument("--crash-at", type=int, help=CRASH)
    args = arguments.parse_args()
    dist_info = init_distributed_environment()
    rank, world = dist_info["rank"], dist_info["world_size"]
    mesh = Mesh(np.array(jax.devices()), ("data",))
    split, whole = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    random = np.random.default_rng(0)
    start = {"in": random.normal(size=(WIDTH, 64)) * 0.2, "out": random.normal(size=(64, 1)) * 0.2}
    step = 0
    if checkpoint := chosen("step-*.npz"):
        stored = np.load(checkpoint)
        start, step = {name: stored[name] for name in start}, int(stored["step"])
        print(resumed(rank, step, checkpoint.name), flush=True)
    weights = {name: jax.device_put(value.astype(np.float32), whole) for name, value in start.items()}
    local_batch_size = args.batch_size // jax.process_count()
    if micro := os.environ.get("FERMI_MICRO_BATCH_SIZE"):
        # One larger pass is the same as several that are added up.
        local_batch_size = int(micro) * int(os.environ.get("FERMI_GRADIENT_ACCUMULATION_STEPS", "1"))
    while step < args.steps:
        batches = np.random.default_rng([step, rank])
        x = batches.normal(size=(local_batch_size, WIDTH)).astype(np.float32)
        y = x.mean(1, keepdims=True) * 4
        here = [jax.make_array_from_process_local_data(split, part) for part in (x, y)]
        weights, loss = update(weights, *here)
        # JAX computes behind the script's back; waiting here keeps the processes in step.
        value = float(loss.addressable_data(0))
        step += 1
        if step == args.crash_at and rank == world - 1 and RESTARTS == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if rank == 0:
            report(step, args.steps, value)
        if step % args.save_every == 0:
            if rank == 0:
                print(f"step {step}/{args.steps} loss {value:.4f}", flush=True)
            if saves(rank):
                save(step, weights)
    checksum = sum(float(np.asarray(value.addressable_data(0), np.float64).sum()) for value in weights.values())
    print(f"[Rank {rank}] done: step {step} of {world} processes, parameters {checksum:.6f}", flush=True)
    if world > 1:
        jax.distributed.shutdown()


if __name__ == "__main__":
    try:
        main()
    except SystemExit:
        # Help, or an option that there is not: no process waits yet.
        raise
    except BaseException:
        # JAX's own way out waits for the other processes, which wait for this one.
        traceback.print_exc()
        os._exit(1)
