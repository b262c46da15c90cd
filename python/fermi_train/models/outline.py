"""Models whose parameters have a shape and no memory: what a rank holds until it is given the values."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from .sources import Source

# Reads the value of a parameter; kept on the parameter itself, which keeps its object wherever it is wrapped.
Reader = Callable[[], torch.Tensor]
_READER = "fermi_reader"
_ONE, _INDEX = "model.safetensors", "model.safetensors.index.json"


@contextmanager
def without_memory() -> Generator[None]:
    """Makes modules whose parameters take no memory; their buffers are real."""
    usual = nn.Module.register_parameter

    def register(module: nn.Module, name: str, param: nn.Parameter | None) -> None:
        usual(module, name, None if param is None else hollow(param))

    setattr(nn.Module, "register_parameter", register)  # noqa: B010  # Its own first name is another one.
    try:
        yield
    finally:
        nn.Module.register_parameter = usual


def hollow(parameter: nn.Parameter) -> nn.Parameter:
    """Gives a parameter of the same shape without memory."""
    if parameter.is_meta:
        return parameter
    return nn.Parameter(torch.empty_like(parameter, device="meta"), requires_grad=parameter.requires_grad)


def outline(source: Source, kind: Any) -> Any:
    """Makes a model without its values."""
    with without_memory():
        return kind.from_config(source.config(), dtype=torch.float32)


def read_once(source: Source, kind: Any, seed: int, rank: int, waits: bool) -> Any:
    """Loads a model that all ranks need: rank 0 reads its values, and the others make its outline.

    With `waits` rank 0 makes that too and reads each value when it is given to all. Where files do not say what
    transformers will make of them, every rank reads the whole.
    """
    if source.is_random:
        return source.load(kind, seed) if rank == 0 else outline(source, kind)
    try:
        made = outline(source, kind)
    except ValueError:
        # It says what is wrong with the model.
        return source.load(kind, seed)
    files = Files.of(source.name, made)
    if files is None or (rank == 0 and not waits):
        return source.load(kind, seed)
    if rank == 0:
        torch.manual_seed(seed)
        files.give_to(made)
        _generate_as(source.name, made)
    return made


def is_outline(model: nn.Module) -> bool:
    """Says whether a model has parameters without memory."""
    return any(parameter.is_meta for parameter in model.parameters())


def _generate_as(name: str, model: Any) -> None:
    """Takes what a model's files say of generation, as `from_pretrained` does."""
    from transformers import GenerationConfig

    if not model.can_generate():
        return
    try:
        model.generation_config = GenerationConfig.from_pretrained(name)
    except OSError:
        more: dict[str, Any] = {"config_file_name": "config.json", "_from_model_config": True}
        model.generation_config = GenerationConfig.from_pretrained(name, **more)


def reader_of(parameter: nn.Parameter) -> Reader | None:
    """Gives what reads the value of a parameter without memory."""
    return getattr(parameter, _READER, None)


@dataclass(frozen=True)
class Files:
    """The safetensors files of a model, and what lies in which of them under which name."""

    places: dict[str, tuple[str, str]]

    @classmethod
    def of(cls, name: str, model: Any) -> Files | None:
        """Finds the values of all parameters of a model without memory.

        None where they lie otherwise than the model has them: transformers renames, joins and makes what is missing.
        """
        from safetensors import SafetensorError, safe_open

        found: dict[str, tuple[str, str, list[int]]] = {}
        try:
            for file in _files(name):
                with safe_open(file, "pt") as opened:
                    for key in opened.keys():  # noqa: SIM118  # It is no dictionary.
                        found[key] = (file, key, list(opened.get_slice(key).get_shape()))
        except (OSError, ValueError, SafetensorError):
            return None
        prefix = f"{getattr(model, 'base_model_prefix', '')}."
        wanted = {key: parameter for key, parameter in model.named_parameters()}
        if not found or any(key in found for key in _aliases(model)):
            return None
        places: dict[str, tuple[str, str]] = {}
        for key, parameter in wanted.items():
            place = found.pop(key, None) or found.pop(key.removeprefix(prefix), None)
            if place is None or place[2] != list(parameter.shape):
                return None
            places[key] = place[:2]
        return None if found else cls(places)

    def give_to(self, model: Any) -> None:
        """Lets each parameter know where its value is."""
        for key, parameter in model.named_parameters():
            setattr(parameter, _READER, self._reader(*self.places[key]))

    def _reader(self, file: str, key: str) -> Reader:
        def read() -> torch.Tensor:
            from safetensors import safe_open

            # Mapped for this one alone: what was read of a file counts as this process's memory until it is closed.
            with safe_open(file, "pt") as opened:
                return opened.get_tensor(key).to(torch.float32, copy=True)

        return read


def _aliases(model: Any) -> set[str]:
    """Names the parameters that are another one's too; a file that has both may mean two."""
    once = {key for key, _ in model.named_parameters()}
    return {key for key, _ in model.named_parameters(remove_duplicate=False)} - once


def _files(name: str) -> list[str]:
    """Lists the files of a folder, or those that the hub has brought; none where the model has files of another kind."""
    from transformers.utils import cached_file

    def of(file: str) -> str | None:
        return cached_file(
            name, file, _raise_exceptions_for_missing_entries=False, _raise_exceptions_for_connection_errors=False
        )

    if (Path(name) / "adapter_config.json").exists():
        return []
    if one := of(_ONE):
        return [one]
    if (index := of(_INDEX)) is None:
        return []
    parts: dict[str, str] = json.loads(Path(index).read_text(encoding="utf-8"))["weight_map"]
    files = [of(file) for file in sorted(set(parts.values()))]
    return [file for file in files if file is not None] if all(files) else []
