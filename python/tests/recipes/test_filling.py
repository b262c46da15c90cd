"""A model is read once for all ranks, and nobody can tell by its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deepspeed  # noqa: F401  # Once here, and not in every rank.
import pytest
import tiny
import torch
from ranks import run_ranks
from running import sft
from test_strategies import STRATEGIES
from transformers import AutoModelForCausalLM

from fermi_train.models.bytes_tokenizer import bytes_tokenizer
from fermi_train.models.outline import Files, outline
from fermi_train.models.presets import preset
from fermi_train.models.sources import Source
from fermi_train.recipes import sft as recipe
from fermi_train.trainer import BaseTrainer


class Looking(BaseTrainer):
    """Notes the bytes of parameters that this rank holds before a strategy has the model."""

    before = 0

    def _set_up(self, resumes_from: Any) -> None:
        Looking.before = sum(one.nbytes for one in self.model.parameters() if not one.is_meta)
        super()._set_up(resumes_from)


def _whole(source: Source, kind: Any, seed: int, rank: int, waits: bool) -> Any:
    return source.load(kind, seed)


def _one(config: Path) -> tuple[dict[str, Any], int]:
    return sft(config, Looking), Looking.before


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in a few files, whose last layer is its first one."""
    made = tmp_path_factory.mktemp("model")
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_config(preset("tiny-opt"))
    assert model.config.tie_word_embeddings
    model.generation_config.temperature, model.generation_config.do_sample = 0.7, True
    model.save_pretrained(made, max_shard_size="200KB")
    bytes_tokenizer().save_pretrained(made)
    assert len(list(made.glob("*.safetensors"))) > 1
    return made


def _trained(place: Path, model: str, name: str, **more: Any) -> list[tuple[dict[str, Any], int]]:
    place.mkdir()
    data = tiny.write_rows(place / "data.jsonl", tiny.answers(16))
    keys = {**STRATEGIES[name], **more, "model__name_or_path": model, "training__max_steps": 3}
    return run_ranks(2, _one, tiny.settings(place, data, **keys))


# Rank 0 reads value after value where it can; random ones have an order, and LoRA's are drawn beside real ones.
CASES = [
    pytest.param("folder", "ddp", {}, None, marks=pytest.mark.long),
    ("folder", "fsdp", {}, (0, 0)),
    ("folder", "zero3", {"training__bf16": True}, (0, 0)),
    ("preset:tiny-opt", "fsdp", {"lora__r": 4}, (1, 0)),
    pytest.param("preset:tiny-opt", "zero1", {}, (1, 0), marks=pytest.mark.long),
]


@pytest.mark.parametrize(("model", "name", "more", "before"), CASES)
def test_a_model_that_is_read_once_has_the_same_numbers(
    model: str,
    name: str,
    more: dict[str, Any],
    before: tuple[int, int] | None,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = str(folder) if model == "folder" else model
    once = _trained(tmp_path / "once", named, name, **more)
    monkeypatch.setattr(recipe, "read_once", _whole)
    each = _trained(tmp_path / "each", named, name, **more)
    for (mine, _), (usual, all_of_it) in zip(once, each, strict=True):
        assert mine["loss"] == usual["loss"] and mine["norm"] == usual["norm"] and len(mine["loss"]) == 3
        assert all_of_it > 0
    if before is not None:
        assert tuple(int(held > 0) for _, held in once) == before
    files = [sorted((tmp_path / kind / "out/model").glob("*")) for kind in ("once", "each")]
    assert [one.name for one in files[0]] == [one.name for one in files[1]]
    for one, other in zip(*files, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_files_that_are_not_as_the_model_has_it_are_left_to_transformers(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    def found(name: Path) -> bool:
        return Files.of(str(name), outline(Source(str(name)), AutoModelForCausalLM)) is not None

    assert found(folder)
    weights: dict[str, torch.Tensor] = {}
    for part in folder.glob("*.safetensors"):
        weights |= load_file(part)

    def changed(name: str, values: dict[str, torch.Tensor]) -> Path:
        made = tmp_path / name
        preset("tiny-opt").save_pretrained(made)
        save_file({key: value.clone() for key, value in values.items()}, made / "model.safetensors")
        return made

    # As a model without its head is saved.
    assert found(changed("base", {key.removeprefix("model."): value for key, value in weights.items()}))
    first = next(iter(weights))
    others = {key: value for key, value in weights.items() if key != first}
    assert not found(changed("missing", others))
    assert not found(changed("more", {**weights, "more": torch.zeros(1)}))
    assert not found(changed("shape", {**weights, first: torch.zeros(1)}))
    embedding = weights["model.decoder.embed_tokens.weight"]
    assert not found(changed("head", {**weights, "lm_head.weight": embedding + 1}))
    (tmp_path / "base/model.safetensors").write_bytes(b"torn")
    assert not found(tmp_path / "base")
