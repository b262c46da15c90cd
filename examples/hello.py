"""Every rank says where it stands. Needs nothing but Python.

    fermi run --nproc-per-node 4 --tee 1 examples/hello.py
    torchrun --nproc-per-node 4 examples/hello.py
"""

import os

rank, world_size, local_rank = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
print(f"[Rank {rank}] World Size: {world_size}, Local Rank: {local_rank}, Master Addr: {os.environ['MASTER_ADDR']}")
