"""From the file to its meaning here: `fermi_training` decides strategy, batch, precision and learning rate."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fermi_training import Facts, Settings, TrainingYamlError, deepspeed_file, named_file
from fermi_training.document import sections
from fermi_training.facts import gpus_here, ranks_here
from fermi_training.reader import values_of
from fermi_training.reasons import of_system
from fermi_training.resolving import resolve

from .keys import Keys
from .messages import Refusal, Text

# Keys that are obeyed by what `fermi_training` decides from them.
_DECIDED = (
    "training.algorithm",
    "training.distributed",
    "training.distributed_strategy",
    "training.distributed_backend",
    "training.per_device_train_batch_size",
    "training.gradient_accumulation_steps",
    "training.mixed_precision",
    "training.fp16",
    "training.bf16",
    "training.learning_rate",
    "training.lr_scaling",
    "training.deepspeed.zero_stage",
    "training.deepspeed.config_path",
    "model.parameters",
)
ALGORITHMS = {"sft": "sft", "rm": "reward", "reward": "reward", "dpo": "dpo", "grpo": "grpo", "ppo": "ppo"}


@dataclass(frozen=True)
class File:
    """A file that was read: what it means, its keys to be obeyed, and DeepSpeed's own JSON where one is named."""

    settings: Settings
    keys: Keys
    algorithm: str
    deepspeed_json: dict[str, Any] | None
    path: Path
    # The settings are those of a launch, which has chosen the folder of results.
    is_of_launch: bool = False
    # The folder that the command line names.
    output: Path | None = None


def read(
    path: str | None,
    algorithm: str | None,
    model_parameters: int | None = None,
    changes: tuple[str, ...] = (),
    here: tuple[int, bool] | None = None,
    output: Path | None = None,
) -> File:
    """Reads a file, or the one of the launch; all mistakes of it come as one `Refusal`.

    `changes` are of the form `training.max_steps=5` and win over the file; with them there need be no file. `here` is the
    number of ranks and whether each has a GPU, where no launcher and no torch is asked.
    """
    launched = path is None
    path = path or os.environ.get("FERMI_TRAINING_FILE")
    if not path and not changes:
        raise Refusal(
            Text("没有指定 training.yaml", "there is no training.yaml"),
            Text("请使用 --config training.yaml", "give it by --config training.yaml"),
        )
    file = Path(path or "training.yaml")
    try:
        document = dict(sections(named_file.read(file))) if path else {}
        for change in changes:
            _change(document, change)
        values: dict[str, Any] = dict(values_of(document))
        # What a launch made without a file of the user's has the engine's usual values in it, which no recipe asked for.
        made = deepspeed_file.of_this_launch() if launched and "training.deepspeed.config_path" in values else None
        named = made or deepspeed_file.read_named_by(values, file)
        ranks, gpus = here or (ranks_here(), gpus_here())
        settings = resolve(values, Facts(ranks, gpus, model_parameters, named))
    except OSError as error:
        why = of_system(error)
        raise Refusal(
            Text(f"无法读取 {file}：{why.zh}", f"cannot read {file}: {why}"),
            Text("请检查路径和权限", "look at the path and its permissions"),
        ) from None
    except TrainingYamlError as error:
        raise Refusal(
            Text(
                "\n  ".join([f"{file} 有误：", *(mistake.line().zh for mistake in error.mistakes)]),
                "\n  ".join([f"{file} has mistakes:", *(mistake.line() for mistake in error.mistakes)]),
            ),
            Text("training.schema.json 列出了所有键", "training.schema.json has every key"),
        ) from None
    keys = Keys(values)
    for key in _DECIDED:
        keys.take(key)
    word = algorithm_of(algorithm, values.get("training.algorithm"))
    return File(settings, keys, word, named, file, is_of_launch=launched and bool(path), output=output)


def _change(document: dict[str, Any], change: str) -> None:
    """Puts one value over the file's; its spelling is that of YAML."""
    name, is_there, text = change.partition("=")
    if not is_there or not name:
        raise Refusal(
            Text(f"--set {change} 没有等号", f"--set {change} has no equals sign"),
            Text("请写成 --set training.max_steps=5", "write it as --set training.max_steps=5"),
        )
    *above, last = name.split(".")
    section = document
    for part in above:
        below = section.get(part)
        section[part] = dict(below) if isinstance(below, dict) else {}
        section = section[part]
    section[last] = sections(f"value: {text}")["value"]


def algorithm_of(given: str | None, in_file: Any = None) -> str:
    """Gives the algorithm under its first name: that of the command line, else the file's."""
    word = given or in_file or "sft"
    if word not in ALGORITHMS:
        names = ", ".join(ALGORITHMS)
        raise Refusal(
            Text(f"没有名为 “{word}” 的算法", f"there is no algorithm {word!r}"),
            Text(f"请使用以下之一：{names}", f"give one of {names}"),
        )
    if given and in_file and ALGORITHMS[given] != ALGORITHMS[in_file]:
        raise Refusal(
            Text(
                f"--algorithm 是 {given}，而 training.yaml 中是 {in_file}",
                f"--algorithm is {given}, but training.yaml has {in_file}",
            ),
            Text("请保留其中一个", "keep one of them"),
        )
    return ALGORITHMS[word]
