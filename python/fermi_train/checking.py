"""`python -m fermi_train check`: what a launcher asks before any rank starts. Imports no library that trains."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .arguments import Arguments
from .data.files import files_of, is_prepared
from .libraries import missing, needed, not_installed
from .messages import Text
from .models.presets import PRESETS
from .reading import File, read
from .recipes import obeyed
from .settings import Run, source_of


def check_command(words: list[str]) -> int:
    """Refuses what the recipe would refuse, else prints what the run will be as one line of JSON."""
    flags = _flags().parse_args(words)
    file = _file(flags)
    run = obeyed.check(file, flags.ranks)
    if names := missing(needed(run)):
        raise not_installed(names)
    _check_data(run)
    print(json.dumps(_described(file, run), ensure_ascii=False))
    return 0


def _check_data(run: Run) -> None:
    """Refuses data that is nowhere, before ranks start for it."""
    for paths in (run.data.train, run.data.evaluation):
        if paths and not (len(paths) == 1 and is_prepared(paths[0])):
            files_of(paths)


def _file(flags: argparse.Namespace) -> File:
    def once(parameters: int | None) -> File:
        return read(flags.config, flags.algorithm, parameters, tuple(flags.set), (flags.ranks, flags.gpus))

    file = once(None)
    is_open = file.settings.values.get("training.distributed_strategy") == "auto"
    if not is_open or file.settings.values.get("model.parameters") is not None:
        return file
    # Only then the size decides, and has to be counted.
    if names := missing(("torch", "transformers")):
        raise not_installed(names)
    size = source_of(file.keys).parameters()
    file = once(size)
    file.settings.values["model.parameters"] = size
    return file


def _described(file: File, run: Run) -> dict[str, Any]:
    return {
        "algorithm": run.algorithm,
        "strategy": run.strategy,
        "stage": run.stage,
        "parameters": file.settings.values.get("model.parameters"),
        "model": run.source.name,
        "modelConfig": _shape(run.source.name),
        "maxLength": run.max_length,
        "precision": run.precision,
        "optimizer": run.optimiser.name,
        "micro": run.micro,
        "accumulation": run.accumulation,
        "dynamicBatch": run.dynamic_batch,
        "dynamicBatchFrom": run.dynamic_from,
        "gradientCheckpointing": run.gradient_checkpointing,
        "loraRank": run.lora.rank if run.lora else None,
        "outputDir": str(run.folder),
    }


def _shape(name: str) -> dict[str, Any] | None:
    """Reads the model's configuration where it lies here; what would have to be downloaded is left."""
    kind, _, rest = name.partition(":")
    if kind == "preset" and rest in PRESETS:
        family, shape = PRESETS[rest]
        return {"model_type": family, **shape}
    path = Path(rest if kind == "config" else name) / "config.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _flags() -> Arguments:
    about = Text("训练前检查设置。", "Check the settings before a training.")
    parser = Arguments(about, prog="fermi_train check")
    parser.add_argument("--config", metavar="FILE")
    parser.add_argument("--algorithm", metavar="NAME")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[])
    parser.add_argument("--ranks", metavar="N", type=int, default=1)
    parser.add_argument("--gpus", action="store_true")
    return parser
