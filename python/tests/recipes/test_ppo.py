"""PPO learns, by arithmetic that a table can check."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from ranks import run_ranks

from fermi_train import environment
from fermi_train.messages import Refusal
from fermi_train.models.lora import Lora
from fermi_train.models.sources import Source
from fermi_train.reading import read
from fermi_train.recipes import ppo
from fermi_train.recipes.ppo.advantage import gae, moments, token_rewards, whiten
from fermi_train.recipes.ppo.loss import policy_loss, value_loss
from fermi_train.recipes.ppo.trainer import PpoTrainer
from fermi_train.recipes.ppo.value import PolicyAndValue


def test_gae_is_that_of_a_table_made_by_hand() -> None:
    rewards, values = torch.tensor([[0.0, 0.0, 1.0, 0.0]]), torch.tensor([[0.5, 0.25, 0.5, 0.0]])
    mask = torch.tensor([[1.0, 1.0, 1.0, 0.0]])
    advantages, returns = gae(rewards, values, mask, gamma=1.0, lam=0.5)
    # Surprises: -0.25, 0.25, 0.5; each counts half as much one token earlier.
    assert advantages.tolist() == [[-0.25 + 0.5 * (0.25 + 0.5 * 0.5), 0.25 + 0.5 * 0.5, 0.5, 0.0]]
    assert returns.tolist() == [[0.5, 0.75, 1.0, 0.0]]


def test_a_prompt_before_the_answer_changes_nothing() -> None:
    rewards, values = torch.tensor([[0.0, 0.0, 0.3, 1.0]]), torch.tensor([[9.0, 9.0, 0.5, 0.25]])
    mask = torch.tensor([[0.0, 0.0, 1.0, 1.0]])
    advantages, _ = gae(rewards, values, mask, gamma=0.9, lam=0.9)
    alone, _ = gae(rewards[:, 2:], values[:, 2:], mask[:, 2:], gamma=0.9, lam=0.9)
    assert advantages[:, 2:].tolist() == alone.tolist()
    assert advantages[:, :2].tolist() == [[0.0, 0.0]]


def test_the_score_stands_on_the_last_token_and_distance_costs_on_each() -> None:
    mask = torch.tensor([[0.0, 1.0, 1.0, 0.0]])
    old, reference = torch.tensor([[0.0, -1.0, -2.0, 0.0]]), torch.tensor([[0.0, -1.5, -2.0, 0.0]])
    rewards = token_rewards(torch.tensor([2.0]), old, reference, mask, kl=0.1)
    assert rewards.tolist()[0] == pytest.approx([0.0, -0.05, 2.0, 0.0])


def test_whitening_over_two_parts_is_that_over_the_whole() -> None:
    values, mask = torch.tensor([[1.0, 2.0], [3.0, 9.0]]), torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    sums = [sum(pair) for pair in zip(moments(values[:1], mask[:1]), moments(values[1:], mask[1:]), strict=True)]
    whole = whiten(values, mask, *sums)
    assert float(whole.sum()) == pytest.approx(0.0, abs=1e-6)
    assert float((whole**2).sum() / 3) == pytest.approx(1.0, abs=1e-5)


def test_losses_are_clipped_where_it_matters() -> None:
    one, mask = torch.ones(1, 1), torch.ones(1, 1)
    loss, clipped = policy_loss(torch.log(2 * one), torch.zeros(1, 1), one, mask, 0.2)
    assert (float(loss), float(clipped)) == (pytest.approx(-1.2), 1.0)
    loss, clipped = policy_loss(torch.log(2 * one), torch.zeros(1, 1), -one, mask, 0.2)
    assert (float(loss), float(clipped)) == (pytest.approx(2.0), 0.0)
    assert float(value_loss(one, torch.zeros(1, 1), one, mask, 0.5)) == pytest.approx(0.125)


@pytest.mark.parametrize(("count", "sizes"), [(1, [10]), (3, [4, 3, 3]), (4, [3, 3, 2, 2]), (10, [1] * 10)])
def test_every_answer_counts_once_in_a_pass_however_it_is_parted(count: int, sizes: list[int]) -> None:
    trainer: Any = object.__new__(PpoTrainer)
    trainer.settings = SimpleNamespace(epochs=2, minibatches=count)
    parts: list[list[int]] = []

    def one_update(_: Any, rows: torch.Tensor) -> tuple[float, float, float, float, float]:
        parts.append(rows.tolist())
        return 0.0, 0.0, 0.0, 1.0, 0.0

    trainer._one_update = one_update
    trainer._updates(SimpleNamespace(old=torch.zeros(10, 3)), 1)
    assert [len(part) for part in parts] == sizes * 2
    for one_pass in (parts[:count], parts[count:]):
        assert sorted(sum(one_pass, [])) == list(range(10))


def _train(config: Path) -> list[dict[str, Any]]:
    progress = config.parent / f"progress-{os.environ.get('RANK', '0')}.ndjson"
    os.environ["FERMI_PROGRESS_FILE"] = str(progress)
    assert ppo.train(read(str(config), "ppo"), environment.place_here()) == 0
    return [line for line in tiny.lines(progress) if "loss" in line]


def _settings(folder: Path, ranks: int, **more: Any) -> Path:
    data = tiny.write_rows(folder / "prompts.jsonl", [{"prompt": f"{letter}:"} for letter in tiny.LETTERS])
    usual: dict[str, Any] = {
        "training__per_device_train_batch_size": 32 // ranks,
        "training__gradient_accumulation_steps": 1,
        "training__learning_rate": 5e-3,
        "training__max_steps": 25,
        "recipe__reward": "share:a",
        "recipe__max_completion_length": 8,
        "recipe__kl_coef": 0.01,
        "recipe__ppo_epochs": 3,
        "recipe__value_coef": 1.0,
    }
    return tiny.settings(folder, data, **{**usual, **more})


@pytest.mark.parametrize("ranks", [1, 2])
def test_ppo_raises_the_reward(ranks: int, tmp_path: Path) -> None:
    steps = run_ranks(ranks, _train, _settings(tmp_path, ranks))[0]
    rewards = [step["metrics"]["reward"] for step in steps]
    assert rewards[0] < 0.1
    assert max(rewards[-5:]) >= 0.8
    assert all(step["metrics"]["first_ratio_error"] < 1e-4 for step in steps)
    assert all(step["metrics"]["first_clip_fraction"] == 0.0 for step in steps)
    assert max(step["metrics"]["explained_variance"] for step in steps) > 0.5
    assert max(step["metrics"]["kl"] for step in steps) < 60.0
    assert (tmp_path / "out/model/config.json").exists()


@pytest.mark.parametrize("lora", [None, 4], ids=["whole", "lora"])
def test_a_policy_with_dropout_is_judged_by_what_it_said(lora: int | None, tmp_path: Path) -> None:
    more: dict[str, Any] = {"model__name_or_path": "preset:tiny-opt", "training__max_steps": 2}
    config = _settings(tmp_path, 1, **more, **({"lora__r": lora} if lora else {}))
    for step in run_ranks(1, _train, config)[0]:
        assert step["metrics"]["first_ratio_error"] < 1e-4
        assert step["metrics"]["first_clip_fraction"] == 0.0
    if not lora:
        # What is exported has the configuration that it came with.
        assert json.loads((tmp_path / "out/model/config.json").read_text())["dropout"] == 0.1


def test_lora_is_on_the_value_model_too() -> None:
    from transformers import AutoModel, AutoModelForCausalLM

    source, lora = Source("preset:tiny"), Lora(4, 8, 0.0, ())
    policy, value = source.load(AutoModelForCausalLM, 1), source.load(AutoModel, 1)
    both = PolicyAndValue(lora.wrap(policy), lora.wrap(value, "FEATURE_EXTRACTION"))
    trained = [name for name, one in both.named_parameters() if one.requires_grad]
    assert {name.split(".")[0] for name in trained} == {"policy", "value", "head"}
    assert [name for name in trained if "lora" not in name] == ["head.weight", "head.bias"]


def test_a_policy_without_a_step_is_refused(tmp_path: Path) -> None:
    config = _settings(tmp_path, 1, training__max_steps=None, training__num_train_epochs=0.01)
    with pytest.raises(Refusal, match="have no step to train"):
        ppo.train(read(str(config), "ppo"), environment.place_here())


def test_shuffled_rewards_do_not_rise(tmp_path: Path) -> None:
    steps = run_ranks(1, _train, _settings(tmp_path, 1, recipe__reward="tiny:shuffled_share"))[0]
    assert max(step["metrics"]["reward"] for step in steps) < 0.4
