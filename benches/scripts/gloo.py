"""All-reduce by torch's gloo: the same sizes, rounds and clock as the bench's own rank."""

import json
import statistics
import sys
import time

import torch
import torch.distributed as dist

sizes = json.loads(sys.argv[1])
torch.set_num_threads(1)
dist.init_process_group("gloo")
for size, rounds in sizes:
    values = torch.ones(size // 4)
    taken = []
    for turn in range(rounds + rounds // 5):
        values.fill_(1)
        dist.barrier()
        begun = time.perf_counter()
        dist.all_reduce(values)
        if turn >= rounds // 5:
            taken.append((time.perf_counter() - begun) * 1e6)
    if not (values == dist.get_world_size()).all():
        sys.exit("the sum is wrong")
    if dist.get_rank() == 0:
        print(json.dumps({"bytes": size, "medianUs": statistics.median(taken)}), flush=True)
dist.destroy_process_group()
