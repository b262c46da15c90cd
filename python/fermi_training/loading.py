"""From a file or a text to settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from . import deepspeed_file, named_file
from .document import sections
from .facts import Facts, gpus_here, ranks_here
from .mistakes import TrainingYamlError
from .reader import values_of
from .resolving import resolve
from .settings import Settings
from .value import Value


def load(
    path: str | os.PathLike[str] | None = None,
    *,
    ranks: int | None = None,
    gpus: bool | None = None,
    model_parameters: int | None = None,
) -> Settings:
    """Reads a file and says what it means here.

    Without a path it is the file that the launch was made from (FERMI_TRAINING_FILE), with the DeepSpeed file that
    was made by it. `ranks` is WORLD_SIZE unless given, `gpus` what torch sees, `model_parameters` the model's size where the file
    does not say it. The DeepSpeed file that `deepspeed.config_path` names is read too. Raises `TrainingYamlError` with
    every mistake, and `OSError` where the file cannot be read.
    """
    launched = path is None
    path = os.environ.get("FERMI_TRAINING_FILE", "") if path is None else path
    if launched and not path:
        raise FileNotFoundError("FERMI_TRAINING_FILE is not set: launch with --config training.yaml, or name a file")
    try:
        values = values_of(sections(named_file.read(Path(path))))
        named = deepspeed_file.of_this_launch() if launched else None
        named = named or deepspeed_file.read_named_by(values, Path(path))
        return resolve(values, _facts(ranks, gpus, model_parameters, named))
    except TrainingYamlError as error:
        raise TrainingYamlError(error.mistakes, os.fspath(path)) from None


def read(
    file: str | bytes,
    *,
    ranks: int | None = None,
    gpus: bool | None = None,
    model_parameters: int | None = None,
    deepspeed: Mapping[str, Value] | None = None,
) -> Settings:
    """Reads the text of a file; `deepspeed` is the JSON that it names. All else is as in `load`."""
    return resolve(values_of(sections(file)), _facts(ranks, gpus, model_parameters, deepspeed))


def _facts(
    ranks: int | None,
    gpus: bool | None,
    model_parameters: int | None,
    deepspeed: Mapping[str, Value] | None,
) -> Facts:
    ranks = ranks_here() if ranks is None else ranks
    gpus = gpus_here() if gpus is None else gpus
    return Facts(ranks, gpus, model_parameters, deepspeed)
