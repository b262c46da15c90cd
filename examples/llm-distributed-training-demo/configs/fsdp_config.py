"""FSDP settings, and a function that applies them to a model.

    from configs.fsdp_config import setup_fsdp_model
    model = setup_fsdp_model(model)

The strategies have FSDP1's names, which people know; FSDP2 (`fully_shard`) does the work.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard

FULL_SHARD = "FULL_SHARD"  # parameters, gradients and optimizer states are divided
SHARD_GRAD_OP = "SHARD_GRAD_OP"  # parameters stay whole between forward and backward
HYBRID_SHARD = "HYBRID_SHARD"  # divided within a node, copied between nodes

sharding_strategy = SHARD_GRAD_OP
param_dtype = torch.float16
reduce_dtype = torch.float16
offload_params = False
ranks_per_node = torch.cuda.device_count() or 1  # for HYBRID_SHARD


def setup_fsdp_model(model: nn.Module, strategy: str = sharding_strategy) -> nn.Module:
    """Divides every direct part of the model that has parameters, then what is left."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    world = dist.get_world_size()
    if strategy == HYBRID_SHARD:
        mesh = init_device_mesh(
            device, (world // ranks_per_node, ranks_per_node), mesh_dim_names=("replicate", "shard")
        )
    elif strategy in (FULL_SHARD, SHARD_GRAD_OP):
        mesh = init_device_mesh(device, (world,))
    else:
        raise ValueError(f"{strategy}: give FULL_SHARD, SHARD_GRAD_OP or HYBRID_SHARD")
    # Half precision is for GPUs; on CPU it would be slow and lose accuracy.
    half = device == "cuda"
    policy = {
        "mesh": mesh,
        "reshard_after_forward": strategy != SHARD_GRAD_OP,
        "mp_policy": MixedPrecisionPolicy(
            param_dtype=param_dtype if half else None, reduce_dtype=reduce_dtype if half else None
        ),
        "offload_policy": CPUOffloadPolicy() if offload_params and half else OffloadPolicy(),
    }
    for part in model.children():
        if any(True for _ in part.parameters()):
            fully_shard(part, **policy)
    return fully_shard(model, **policy)
