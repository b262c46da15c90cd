"""One rank that adds numbers with the others by the engine's own means. Each step is said when it is done.

argv: torch or jax, backend, rank, world size, address, port, seconds.
"""

import json
import sys
import time

ENGINE, BACKEND, RANK, WORLD, ADDRESS, PORT, SECONDS = sys.argv[1:8]
RANK, WORLD, SECONDS = int(RANK), int(WORLD), int(SECONDS)
VALUES = 1 << 18


def say(**answer):
    print(json.dumps(answer), flush=True)


def torch_adds():
    import datetime

    import torch
    import torch.distributed as distributed

    count = torch.cuda.device_count()
    say(devices=[torch.cuda.get_device_name(at) for at in range(count)] or ["cpu"])
    is_nccl = BACKEND == "nccl"
    device = torch.device("cuda", 0) if is_nccl else torch.device("cpu")
    distributed.init_process_group(
        BACKEND,
        init_method=f"tcp://[{ADDRESS}]:{PORT}" if ":" in ADDRESS else f"tcp://{ADDRESS}:{PORT}",
        rank=RANK,
        world_size=WORLD,
        timeout=datetime.timedelta(seconds=SECONDS),
    )
    say(met=True)
    places = torch.arange(VALUES, device=device) % 1000
    expected = (places * WORLD + WORLD * (WORLD - 1) // 2).float()
    # The first operation also opens the connections.
    distributed.all_reduce(torch.zeros(1, device=device))
    values = (places + RANK).float()
    start = time.perf_counter()
    distributed.all_reduce(values)
    if is_nccl:
        torch.cuda.synchronize()
    micros = int((time.perf_counter() - start) * 1e6)
    say(added={"micros": micros, "isRight": bool((values == expected).all())})
    distributed.destroy_process_group()


def jax_adds():
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    say(imported=True)
    jax.distributed.initialize(f"{ADDRESS}:{PORT}", WORLD, RANK, initialization_timeout=SECONDS)
    say(devices=[f"{device.platform} {device.device_kind}" for device in jax.local_devices()], met=True)

    import jax.numpy as numpy

    places = numpy.arange(VALUES, dtype=numpy.float32) % 1000
    add = jax.pmap(lambda values: jax.lax.psum(values, "devices"), axis_name="devices")
    own = numpy.stack([places + RANK] * jax.local_device_count())
    # The first time it is compiled, and connections are opened.
    add(numpy.zeros_like(own)).block_until_ready()
    start = time.perf_counter()
    total = add(own).block_until_ready()
    micros = int((time.perf_counter() - start) * 1e6)
    of_ranks = sum(device.process_index for device in jax.devices())
    expected = places * jax.device_count() + of_ranks
    is_right = all(bool((shard.data == expected).all()) for shard in total.addressable_shards)
    say(added={"micros": micros, "isRight": is_right})
    jax.distributed.shutdown()


try:
    torch_adds() if ENGINE == "torch" else jax_adds()
except Exception as error:
    said = " ".join(str(error).split())
    say(error=f"{type(error).__name__}: {said[:400]}")
    sys.exit(1)
