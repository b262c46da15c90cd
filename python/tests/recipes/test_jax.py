"""The JAX recipe: micro-batches one after the other are one step, and all numbers of it are told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import tiny
from ranks import run_ranks

from fermi_train.environment import place_here
from fermi_train.messages import Refusal
from fermi_train.reading import read
from fermi_train.recipes import jax_lm


def _train(config: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """Gives the steps as they were told, and how many samples the model has seen at once."""
    progress, seen = config.parent / f"progress-{os.environ['RANK']}.ndjson", []
    os.environ["FERMI_PROGRESS_FILE"] = str(progress)
    usual = jax_lm.logits_of

    def watched(shape: Any, weights: Any, ids: Any) -> Any:
        seen.append(ids.shape[0])
        return usual(shape, weights, ids)

    jax_lm.logits_of = watched
    assert jax_lm.train(read(str(config), "sft"), place_here()) == 0
    return [line for line in tiny.lines(progress) if "loss" in line], seen


def test_the_cut_of_a_batch_does_not_matter_and_every_number_is_told(tmp_path: Path) -> None:
    def trained(micro: int, accumulation: int, processes: int = 1) -> list[dict[str, Any]]:
        folder = tmp_path / f"{micro}-{accumulation}-{processes}"
        folder.mkdir()
        data = tiny.write_rows(folder / "data.jsonl", tiny.answers(14, least=1, most=30))
        config = tiny.settings(
            folder,
            data,
            training__per_device_train_batch_size=micro,
            training__gradient_accumulation_steps=accumulation,
        )
        steps, seen = run_ranks(processes, _train, config)[0]
        assert set(seen) == {micro * processes}
        return steps

    whole, cut, two = trained(4, 1), trained(1, 4), trained(1, 2, processes=2)
    assert len(whole) == 6
    norms = [[step["metrics"]["grad_norm"] for step in steps] for steps in (whole, cut, two)]
    for other, its_norms in zip((cut, two), norms[1:], strict=True):
        assert [step["loss"] for step in other] == pytest.approx([step["loss"] for step in whole], abs=1e-4)
        assert its_norms == pytest.approx(norms[0], abs=1e-3)
    # 14 samples: the last step of the epoch has two.
    counted = [step["samplesPerS"] * step["stepTimeS"] for step in two]
    assert counted == pytest.approx([4, 4, 4, 2, 4, 4])
    assert all(step["tokensPerS"] > step["samplesPerS"] and step["memoryBytes"] > 1e6 for step in cut)


def test_a_micro_batch_that_devices_cannot_share_is_refused() -> None:
    jax_lm._check_devices(8, 4)
    with pytest.raises(Refusal, match="is 4, which the 8 devices of this process cannot share"):
        jax_lm._check_devices(4, 8)


def test_a_run_without_a_step_is_refused(tmp_path: Path) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(4))
    config = tiny.settings(tmp_path, data, training__max_steps=None, training__num_train_epochs=0.1)

    def said() -> str:
        try:
            return str(jax_lm.train(read(str(config), "sft"), place_here()))
        except Refusal as refusal:
            return str(refusal)

    assert "0.1 epochs of 4 samples have no step to train" in run_ranks(1, said)[0]
