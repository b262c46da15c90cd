"""One replica group of a torchft job: each rank trains beside the rank of the same number in the other groups, until the file
`stop` is there. The group goes on alone when another is gone, and one that comes back takes over what the others have learned."""

import os
import sys
import time
from datetime import timedelta

import torch
from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo

stop = os.path.join(sys.argv[1], "stop")
group, rank = int(os.environ["REPLICA_GROUP_ID"]), int(os.environ["RANK"])
torch.manual_seed(group)
model = torch.nn.Linear(4, 4)


def load(saved):
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])


manager = Manager(
    pg=ProcessGroupGloo(timeout=timedelta(seconds=20)),
    min_replica_size=1,
    load_state_dict=load,
    state_dict=lambda: {"model": model.state_dict(), "optimizer": optimizer.state_dict()},
    replica_id=f"group_{group}_",
    timeout=timedelta(seconds=30),
    quorum_timeout=timedelta(seconds=60),
)
optimizer = Optimizer(manager, torch.optim.SGD(model.parameters(), lr=0.01))
trained = DistributedDataParallel(manager, model)
while not os.path.exists(stop):
    time.sleep(0.05)
    optimizer.zero_grad()
    trained(torch.full((2, 4), 1.0 + group)).sum().backward()
    optimizer.step()
    total = sum(parameter.double().sum().item() for parameter in model.parameters())
    # The state after a step of both groups is the same in both.
    print(f"rank {rank} step {manager.current_step()} groups {manager.num_participants()} sum {total:.6f}", flush=True)
manager.shutdown(wait=False)
os._exit(0)
