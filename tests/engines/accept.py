"""Hands every generated file to the engine that it is for. One line per file that was taken; exit 1 if any was not.

    python accept.py FOLDER [--without deepspeed,megatron]

FOLDER holds one folder per launch, as `fermi launch generate --out` wrote it.
"""

import argparse
import contextlib
import dataclasses
import io
import json
import os
import sys
from pathlib import Path
from unittest import mock

# Arguments of Megatron-LM's own parser that are not a field of one of megatron-core's configurations under that name.
RENAMED = {"num_experts": "num_moe_experts"}
TRAINING_LOOP = {
    "micro_batch_size", "global_batch_size", "seq_length", "max_position_embeddings", "train_iters", "save_interval",
    "save", "load", "distributed_backend", "distributed_timeout_minutes", "group_query_attention",
    "num_layers_per_virtual_pipeline_stage",
}
# Of Megatron-DeepSpeed, the joint of the two; no package holds its parser.
MEGATRON_DEEPSPEED = {
    "deepspeed", "deepspeed_config", "zero_stage", "no_pipeline_parallel", "num_key_value_heads", "moe_expert_parallel_size",
}
# What its parser, which is an older Megatron-LM's, does not know.
NOT_MEGATRON_DEEPSPEED = {
    "context_parallel_size", "num_query_groups", "group_query_attention", "expert_model_parallel_size",
}


def deepspeed_config(path: Path, launch: dict) -> str:
    from deepspeed.runtime import config

    ranks = sum(len(node["ranks"]) for node in launch["nodes"])
    text = json.loads(path.read_text())
    model = text.get("tensor_parallel", {}).get("autotp_size", 1) * text.get("pipeline", {}).get("stages", 1)
    # Where DeepSpeed divides the model it counts only the ranks that share data.
    with mock.patch.object(config.dist, "get_world_size", lambda *_: ranks // model), \
         mock.patch.object(config.dist, "get_rank", lambda *_: 0):
        read = config.DeepSpeedConfig(str(path))
    batch, micro, passes = read.train_batch_size, read.train_micro_batch_size_per_gpu, read.gradient_accumulation_steps
    assert batch == micro * passes * (ranks // model), f"{batch} is not {micro} x {passes} x {ranks // model}"
    assert read.zero_optimization_stage == text["zero_optimization"]["stage"]
    for key, value in text["zero_optimization"].items():
        if not isinstance(value, dict):
            seen = getattr(read.zero_config, NAMES_IN_ZERO.get(key, key))
            assert seen == value, f"{key}: DeepSpeed reads {seen!r}"
    assert (read.optimizer_name or "").lower() == text.get("optimizer", {}).get("type", "").lower()
    return f"ZeRO-{read.zero_optimization_stage}, batch {batch} of {ranks} ranks"


# What DeepSpeed calls its settings inside.
NAMES_IN_ZERO = {
    "stage3_prefetch_bucket_size": "prefetch_bucket_size", "stage3_param_persistence_threshold": "param_persistence_threshold",
    "stage3_max_live_parameters": "max_live_parameters", "stage3_max_reuse_distance": "max_reuse_distance",
    "stage3_gather_16bit_weights_on_model_save": "gather_16bit_weights_on_model_save",
}


def hostfile(path: Path, launch: dict) -> str:
    from deepspeed.launcher.runner import fetch_hostfile

    found = fetch_hostfile(str(path))
    slots = [len(node["ranks"]) for node in launch["nodes"]]
    assert list(found.values()) == slots, f"{dict(found)} is not {slots}"
    return ", ".join(f"{host} {count}" for host, count in found.items())


def accelerate_yaml(path: Path, launch: dict) -> str:
    from accelerate.commands.config.config_args import load_config_from_file

    read = load_config_from_file(str(path))
    ranks = sum(len(node["ranks"]) for node in launch["nodes"])
    assert (read.num_processes, read.num_machines) == (ranks, len(launch["nodes"])), read
    if (kind := read.distributed_type.value) == "DEEPSPEED":
        config = read.deepspeed_config["deepspeed_config_file"]
        assert Path(config).name == "ds_config.json" and Path(config).is_file(), config
    else:
        assert kind == "FSDP" and read.fsdp_config, read
        fsdp_plugin(launch)
    return f"{kind} of {ranks} processes on {read.num_machines} machines"


def fsdp_plugin(launch: dict) -> None:
    """accelerate's own reading of the variables that the ranks get."""
    from accelerate.utils import FullyShardedDataParallelPlugin

    variables = launch["nodes"][0]["ranks"][0]["env"]
    with mock.patch.dict(os.environ, variables):
        plugin = FullyShardedDataParallelPlugin()
    wanted = variables["FSDP_STATE_DICT_TYPE"]
    assert plugin.state_dict_type.name == wanted, f"{plugin.state_dict_type} is not {wanted}"


def megatron_arguments(path: Path, launch: dict) -> str:
    from megatron.core.distributed import DistributedDataParallelConfig
    from megatron.core.optimizer import OptimizerConfig
    from megatron.core.transformer.transformer_config import TransformerConfig

    given = {}
    for line in path.read_text().splitlines():
        flag, _, value = line.partition(" ")
        given[flag.removeprefix("--").replace("-", "_")] = number(value) if value else True
    kinds = (TransformerConfig, OptimizerConfig, DistributedDataParallelConfig)
    fields = {kind: {field.name for field in dataclasses.fields(kind)} for kind in kinds}
    values = {RENAMED.get(name, name): value for name, value in given.items()}
    known = TRAINING_LOOP.union(MEGATRON_DEEPSPEED if "deepspeed" in values else (), *fields.values())
    if "deepspeed" in values:
        known -= NOT_MEGATRON_DEEPSPEED
        pipeline = values["pipeline_model_parallel_size"] > 1
        assert values.get("no_pipeline_parallel", False) == (values["zero_stage"] > 1 and not pipeline)
    unknown = sorted(set(given) - known - set(RENAMED))
    assert not unknown, f"neither megatron-core nor the table knows {unknown}"
    # Rules of the parsers that no class of megatron-core holds.
    assert "save" not in values or values.get("save_interval", 0) > 0, "--save needs --save-interval"
    assert not (values.get("fp16") and values.get("bf16")), "--fp16 and --bf16 exclude each other"
    assert values["distributed_backend"] in ("nccl", "gloo"), values["distributed_backend"]
    assert values.get("max_position_embeddings", 0) >= values.get("seq_length", 0)
    shape = {name: value for name, value in values.items() if name in fields[TransformerConfig]}
    # Its own rules are checked when it is made. A pipeline wants to know the type that it passes on.
    if shape.get("pipeline_model_parallel_size", 1) > 1:
        import torch

        shape["pipeline_dtype"] = torch.float32
    if "num_layers" in shape:
        TransformerConfig(**shape)
    OptimizerConfig(**{name: value for name, value in values.items() if name in fields[OptimizerConfig]})
    return f"{len(shape)} of {len(values)} are fields of TransformerConfig"


def number(text: str) -> int | float | str:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


READERS = {
    "ds_config.json": ("deepspeed", deepspeed_config),
    "hostfile": ("deepspeed", hostfile),
    "accelerate_deepspeed.yaml": ("accelerate", accelerate_yaml),
    "accelerate_fsdp.yaml": ("accelerate", accelerate_yaml),
    "megatron_args.txt": ("megatron", megatron_arguments),
}


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--without", default="", help="engines that are not here, by comma")
    args = arguments.parse_args()
    without = set(filter(None, args.without.split(",")))
    refused = 0
    for path in sorted(args.folder.glob("*/*")):
        engine, read = READERS.get(path.name, (None, None))
        if engine is None or engine in without:
            continue
        launch = json.loads((path.parent / "launch.json").read_text())
        name = f"{path.parent.name}/{path.name}"
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                said = read(path, launch)
            print(f"accepted {name} ({engine}): {said}")
        except Exception as error:  # noqa: BLE001: whatever the engine says against the file is the finding
            refused += 1
            print(f"REFUSED {name} ({engine}): {type(error).__name__}: {error}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
