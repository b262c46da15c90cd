"""Reads `training.yaml`, the settings file that people keep beside their training.

`load` takes a file and `read` a text; both give `Settings` or raise `TrainingYamlError`, which names every mistake. The
keys come from `training.schema.json`, and the cases of `tests/training` are played by this reader and by Fermi's own.
"""

from .batch import Batch
from .facts import Facts
from .loading import load, read
from .mistakes import Mistake, TrainingYamlError
from .settings import Settings

__all__ = ["Batch", "Facts", "Mistake", "Settings", "TrainingYamlError", "load", "read"]
