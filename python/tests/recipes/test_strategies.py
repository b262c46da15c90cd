"""One trajectory, whatever divides the model; and the model is really divided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import deepspeed  # noqa: E402, F401  # Once here, and not in every rank.
import pytest
import tiny
import torch
from ranks import run_ranks
from running import Watched, sft
from transformers import AutoModelForCausalLM

from fermi_train.strategies.base import bytes_of

STRATEGIES: dict[str, dict[str, Any]] = {
    "ddp": {},
    "fsdp": {"training__distributed_strategy": "fsdp"},
    "zero1": {"training__distributed_strategy": "deepspeed", "training__deepspeed__zero_stage": 1},
    "zero2": {"training__distributed_strategy": "deepspeed", "training__deepspeed__zero_stage": 2},
    "zero3": {"training__distributed_strategy": "deepspeed", "training__deepspeed__zero_stage": 3},
}
# Parameters, gradients, states: whether a rank holds only its part at the update. Between the micro-batches of a step ZeRO-1
# and FSDP add up whole gradients.
DIVIDED = {
    "ddp": (False, False, False),
    "fsdp": (True, True, True),
    "zero1": (False, True, True),
    "zero2": (False, True, True),
    "zero3": (True, True, True),
}


class Holding(Watched):
    """Counts the gradients that a rank holds between the backward passes of a step and its update."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        """Looks before each update."""
        super().__init__(*arguments, **more)
        update = self.strategy.step

        def step() -> Any:
            self.gradients = _gradients(self.strategy)
            return update()

        self.strategy.step = step  # type: ignore[method-assign]

    def after_step(self, step: int) -> None:
        """Tells what all ranks held."""
        super().after_step(step)
        self.held = {**self.held, "gradients": self.world.gathered(self.gradients)}


def _gradients(strategy: Any) -> int:
    found = [one.grad for one in strategy.bare.parameters() if one.grad is not None]
    if strategy.name == "deepspeed" and strategy.stage == 3:
        found.append(strategy.optimizer.grad_partitions_flat_buffer)
    elif strategy.name == "deepspeed":
        found += [part for parts in strategy.optimizer.averaged_gradients.values() for part in parts or ()]
    return bytes_of(found)


def _trained(folder: Path, name: str, ranks: int, **more: Any) -> list[dict[str, Any]]:
    place = folder / f"{name}-{ranks}"
    place.mkdir()
    data = tiny.write_rows(place / "data.jsonl", tiny.answers(48))
    config = tiny.settings(place, data, **STRATEGIES[name], **more)
    return run_ranks(ranks, sft, config, Holding)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The trajectory of one process with the batch of two."""
    folder = tmp_path_factory.mktemp("alone")
    found = _trained(folder, "ddp", 1, training__gradient_accumulation_steps=4)[0]
    return {**found, "told": _told(folder / "ddp-1")}


@pytest.mark.parametrize("hook", ["fp16", "powersgd"])
def test_compressed_gradients_go_nearly_the_same_way(hook: str, alone: dict[str, Any], tmp_path: Path) -> None:
    first, second = _trained(tmp_path, "ddp", 2, recipe__ddp_comm_hook=hook, training__gradient_as_bucket_view=True)
    assert first["loss"] == second["loss"]
    assert first["loss"] == pytest.approx(alone["loss"], abs=1e-2)


@pytest.mark.parametrize("name", STRATEGIES)
def test_two_ranks_go_the_way_of_one_and_hold_what_they_say(name: str, alone: dict[str, Any], tmp_path: Path) -> None:
    first, second = _trained(tmp_path, name, 2)
    assert first["loss"] == pytest.approx(alone["loss"], abs=1e-4)
    assert first["norm"] == pytest.approx(alone["norm"], abs=1e-3)
    assert first["loss"] == second["loss"]
    whole = alone["held"]
    for what, is_divided in zip(("parameters", "gradients", "states"), DIVIDED[name], strict=True):
        total = whole[what][0]
        for held in first["held"][what]:
            assert held == pytest.approx(total / 2 if is_divided else total, rel=0.05), what
    assert _told(tmp_path / f"{name}-2") == pytest.approx(alone["told"], abs=2e-2)


class Moving(Watched):
    """Notes the parameters of each module that is moved to the device as a whole, and what is left when it is set up."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        """Stands before torch's own way."""
        self.moved: list[int] = []
        usual = torch.nn.Module.to

        def moves(module: torch.nn.Module, *given: Any, **named: Any) -> Any:
            self.moved.append(sum(one.numel() for one in module.parameters()))
            return usual(module, *given, **named)

        torch.nn.Module.to = moves  # type: ignore[assignment]
        super().__init__(*arguments, **more)

    def _set_up(self, resumes_from: Any) -> None:
        whole = sum(one.numel() for one in self.model.parameters())
        super()._set_up(resumes_from)
        own = bytes_of(getattr(one, "ds_tensor", one) for one in self.strategy.bare.parameters()) // 4
        self.every.append([whole, max(self.moved, default=0), own])


@pytest.mark.parametrize(("name", "is_whole"), [("ddp", True), ("fsdp", False), ("zero3", False)])
def test_a_divided_model_is_never_whole_on_the_device(name: str, is_whole: bool, tmp_path: Path) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(8))
    config = tiny.settings(tmp_path, data, **STRATEGIES[name], training__max_steps=1)
    for rank in run_ranks(2, sft, config, Moving):
        whole, moved, own = rank["trained"][0]
        assert moved == (whole if is_whole else 0)
        assert own == pytest.approx(whole if is_whole else whole / 2, rel=0.05)


@pytest.mark.parametrize("name", ["ddp", "fsdp", "zero3"])
def test_the_micro_batch_that_is_tried_changes_nothing(name: str, alone: dict[str, Any], tmp_path: Path) -> None:
    first, _ = _trained(tmp_path, name, 2, recipe__dynamic_batch=True)
    assert first["loss"] == pytest.approx(alone["loss"], abs=1e-4)
    assert "the micro-batch is 4" in (tmp_path / f"{name}-2/out/logs/training.log").read_text()


@pytest.mark.parametrize("name", ["fsdp", "zero2"])
def test_an_offload_without_a_gpu_is_said_to_have_no_effect(name: str, tmp_path: Path) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(8))
    file, key = tmp_path / "ds.json", "training.fsdp.offload_params"
    more: dict[str, Any] = {"training__fsdp__offload_params": True}
    if name == "zero2":
        key = "zero_optimization.offload_optimizer / offload_param"
        file.write_text(json.dumps({"zero_optimization": {"offload_optimizer": {"device": "cpu"}}}))
        more = {"training__deepspeed__config_path": str(file)}
    config = tiny.settings(tmp_path, data, **STRATEGIES[name], **more, training__max_steps=1)
    run_ranks(1, sft, config)
    assert f"no GPU, so {key} has no effect" in (tmp_path / "out/logs/training.log").read_text()


def _told(folder: Path) -> list[float]:
    """Gives what the exported model says of a few tokens."""
    model = AutoModelForCausalLM.from_pretrained(folder / "out/model")
    with torch.no_grad():
        return model(input_ids=torch.arange(40, 56)[None]).logits[0, -1].tolist()
