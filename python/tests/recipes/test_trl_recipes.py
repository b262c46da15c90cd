"""RM, DPO and GRPO learn; with shuffled labels they do not."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from ranks import run_ranks
from transformers import AutoModelForCausalLM
from trl import DPOTrainer, GRPOTrainer, RewardTrainer

from fermi_train import environment
from fermi_train.messages import Refusal
from fermi_train.models.sources import Source
from fermi_train.reading import read

# Imported once here, and not in every rank.
TRAINERS = (DPOTrainer, GRPOTrainer, RewardTrainer)


def _train(config: Path, algorithm: str) -> dict[str, Any]:
    import importlib

    names = {"rm": "rm", "dpo": "dpo", "grpo": "grpo"}
    progress = config.parent / f"progress-{os.environ.get('RANK', '0')}.ndjson"
    os.environ["FERMI_PROGRESS_FILE"] = str(progress)
    recipe = importlib.import_module(f"fermi_train.recipes.{names[algorithm]}")
    code = recipe.train(read(str(config), algorithm), environment.place_here())
    os.environ.pop("FERMI_PROGRESS_FILE")
    told = tiny.lines(progress)
    steps = [line for line in told if "loss" in line]
    evaluated = [line["metrics"] for line in told if "eval_loss" in line.get("metrics", {})]
    return {"code": code, "steps": steps, "eval": evaluated}


def _preferences(folder: Path, shuffled: bool = False, **more: Any) -> Path:
    data = tiny.write_rows(folder / "train.jsonl", tiny.preferences(96, 1, shuffled))
    held_out = tiny.write_rows(folder / "eval.jsonl", tiny.preferences(64, 2))
    usual: dict[str, Any] = {
        "data__eval": str(held_out),
        "training__per_device_train_batch_size": 8,
        "training__gradient_accumulation_steps": 1,
        "training__per_device_eval_batch_size": 64,
        "training__learning_rate": 3e-3,
        "training__max_steps": 30,
        "training__eval_strategy": "steps",
        "training__eval_steps": 30,
    }
    return tiny.settings(folder, data, **{**usual, **more})


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_reward_model_prefers_what_people_prefer(ranks: int, tmp_path: Path) -> None:
    more = {"training__per_device_train_batch_size": 8 // ranks}
    first = run_ranks(ranks, _train, _preferences(tmp_path, **more), "rm")[0]
    assert first["eval"][-1]["eval_accuracy"] >= 0.95
    assert (tmp_path / "out/model/config.json").exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_dpo_begins_at_its_reference_and_learns(ranks: int, tmp_path: Path) -> None:
    more = {"training__per_device_train_batch_size": 8 // ranks, "training__learning_rate": 1e-3}
    first = run_ranks(ranks, _train, _preferences(tmp_path, **more), "dpo")[0]
    begin, end = first["steps"][0], first["eval"][-1]
    assert begin["loss"] == pytest.approx(0.6931, abs=1e-3)
    assert begin["metrics"]["rewards/margins"] == pytest.approx(0.0, abs=1e-4)
    assert end["eval_rewards/accuracies"] >= 0.9
    assert end["eval_rewards/margins"] > 0.1
    assert all(math.isfinite(number) for number in end.values())


def test_swapped_labels_are_learned_the_other_way_round(tmp_path: Path) -> None:
    config = _preferences(tmp_path)
    swapped = [{**row, "chosen": row["rejected"], "rejected": row["chosen"]} for row in tiny.preferences(96, 1)]
    tiny.write_rows(tmp_path / "train.jsonl", swapped)
    assert run_ranks(1, _train, config, "rm")[0]["eval"][-1]["eval_accuracy"] <= 0.05


@pytest.mark.parametrize("algorithm", ["rm", "dpo"])
def test_coins_cannot_be_foreseen(algorithm: str, tmp_path: Path) -> None:
    config = _preferences(tmp_path, shuffled=True)
    tiny.write_rows(tmp_path / "eval.jsonl", tiny.preferences(256, 5, shuffled=True))
    end = run_ranks(1, _train, config, algorithm)[0]["eval"][-1]
    name = "eval_accuracy" if algorithm == "rm" else "eval_rewards/accuracies"
    assert end[name] == pytest.approx(0.5, abs=0.1)


def _counted(config: Path) -> tuple[int, int]:
    """Counts what this rank has tokenised, and refuses to let ranks wait for the first one in a collective."""
    from accelerate import PartialState
    from trl.trainer import reward_trainer

    tokenise, counted = reward_trainer._tokenize, []

    def counts(*given: Any, **more: Any) -> Any:
        counted.append(1)
        return tokenise(*given, **more)

    def waits(*_: Any) -> None:
        raise AssertionError("ranks wait in a collective")

    reward_trainer._tokenize = counts
    PartialState._goes_first = waits
    return _train(config, "rm")["code"], len(counted)


def test_pairs_are_tokenised_once_for_all_ranks_and_for_later_runs(tmp_path: Path) -> None:
    more: dict[str, Any] = {"training__per_device_train_batch_size": 4, "training__max_steps": 1}
    config = _preferences(tmp_path, **more, training__eval_steps=5)
    first, second = (run_ranks(2, _counted, config) for _ in range(2))
    assert [code for code, _ in [*first, *second]] == [0] * 4
    assert (sum(count for _, count in first), sum(count for _, count in second)) == (2 * (96 + 64), 0)
    tiny.write_rows(tmp_path / "eval.jsonl", tiny.preferences(8, 3))
    assert run_ranks(1, _counted, config) == [(0, 2 * 8)]


def test_a_last_batch_of_one_row_weighs_as_one_row_in_an_evaluation(tmp_path: Path) -> None:
    def evaluated(size: int) -> dict[str, float]:
        more: dict[str, Any] = {"training__max_steps": 2, "training__eval_steps": 2}
        config = _preferences(tmp_path, **more, training__per_device_eval_batch_size=size)
        tiny.write_rows(tmp_path / "eval.jsonl", tiny.preferences(33, 2))
        return run_ranks(1, _train, config, "rm")[0]["eval"][-1]

    at_once, parted = evaluated(33), evaluated(32)
    for name in ("eval_accuracy", "eval_margin", "eval_loss"):
        assert parted[name] == pytest.approx(at_once[name], abs=1e-5), name


@pytest.mark.parametrize(
    ("most", "said"), [(13, "are left out"), (4, "96 of 96 samples are longer than the max_length of 4")]
)
def test_samples_that_trl_leaves_out_are_counted(most: int, said: str, tmp_path: Path) -> None:
    def trained() -> str:
        config = _preferences(tmp_path, model__max_length=most, training__max_steps=1, training__eval_steps=5)
        try:
            _train(config, "rm")
        except Refusal as refusal:
            return str(refusal)
        return (tmp_path / "out/logs/training.log").read_text()

    (found,) = run_ranks(1, trained)
    assert said in found and "of 96 samples are longer than the max_length" in found


def test_a_run_of_trl_goes_on_where_it_was(tmp_path: Path) -> None:
    def trained(name: str, steps: list[int]) -> list[float]:
        folder = tmp_path / name
        folder.mkdir()
        more: dict[str, Any] = {"training__save_strategy": "steps", "training__save_steps": 3}
        more |= {"training__resume_from_checkpoint": "latest", "training__save_total_limit": 1}
        more |= {"training__eval_strategy": "no", "training__eval_steps": None, "data__eval": None}
        more |= {"training__per_device_eval_batch_size": None}
        for count in steps:
            run_ranks(1, _train, _preferences(folder, **more, training__max_steps=count), "rm")
        assert [path.name for path in (folder / "out/checkpoints").glob("step-*")] == ["step-000006"]
        return list(tiny.losses(folder / "progress-0.ndjson").values())

    assert trained("halves", [3, 6]) == pytest.approx(trained("straight", [6]), abs=1e-6)


def test_nodes_that_would_find_no_model_in_their_checkpoints_are_told_before(tmp_path: Path) -> None:
    def trained(strategy: str) -> str | int:
        try:
            return _train(_preferences(tmp_path, training__max_steps=1, training__save_strategy=strategy), "rm")["code"]
        except Refusal as refusal:
            return refusal.shown()

    own = {"FERMI_CHECKPOINT_SHARED": "0"}
    (said,) = run_ranks(1, trained, "epoch", variables=own)
    assert "checkpoints of reward are written by rank 0 alone" in said and "or give training.save_strategy: no" in said
    assert run_ranks(1, trained, "no", variables=own) == [0]


def _prompts(folder: Path, reward: str, ranks: int, **more: Any) -> Path:
    data = tiny.write_rows(folder / "prompts.jsonl", [{"prompt": f"{letter}:"} for letter in tiny.LETTERS])
    usual: dict[str, Any] = {
        "training__per_device_train_batch_size": 32 // ranks,
        "training__gradient_accumulation_steps": 1,
        "training__learning_rate": 2e-2,
        "training__max_steps": 25,
        "recipe__reward": reward,
        "recipe__num_generations": 8,
        "recipe__max_completion_length": 8,
    }
    return tiny.settings(folder, data, **{**usual, **more})


@pytest.mark.parametrize("ranks", [1, 2])
def test_grpo_raises_the_reward(ranks: int, tmp_path: Path) -> None:
    first = run_ranks(ranks, _train, _prompts(tmp_path, "share:a", ranks), "grpo")[0]
    rewards = [step["metrics"]["reward"] for step in first["steps"]]
    assert rewards[0] < 0.1
    assert max(rewards[-5:]) >= 0.8


def _refusal(config: Path, algorithm: str) -> str:
    def said() -> str:
        try:
            return str(_train(config, algorithm))
        except Refusal as refusal:
            return str(refusal)

    return str(run_ranks(1, said)[0])


def test_samples_that_fill_no_batch_are_refused(tmp_path: Path) -> None:
    few = _prompts(tmp_path, "share:a", 1, recipe__num_generations=2)
    assert "8 samples fill no batch, so there is no step to train" in _refusal(few, "grpo")
    more: dict[str, Any] = {"training__dataloader_drop_last": True, "training__per_device_train_batch_size": 100}
    assert "96 samples fill no batch" in _refusal(_preferences(tmp_path, **more), "rm")


def test_evaluating_on_samples_that_trl_leaves_out_is_refused(tmp_path: Path) -> None:
    config = _preferences(tmp_path, model__max_length=13)
    tiny.write_rows(tmp_path / "eval.jsonl", [{**row, "chosen": "a" * 50} for row in tiny.preferences(3, 2)])
    assert "no sample is set aside" in _refusal(config, "rm")


def equal(completions: list[str], **_: Any) -> list[float]:
    """A reward that says nothing."""
    return [1.0] * len(completions)


def test_equal_rewards_change_nothing(tmp_path: Path) -> None:
    more = {"training__max_steps": 2, "training__weight_decay": 0.0, "recipe__beta": 0.0}
    config = _prompts(tmp_path, "test_trl_recipes:equal", 1, **more)
    first = run_ranks(1, _train, config, "grpo")[0]
    assert [step["metrics"]["grad_norm"] for step in first["steps"]] == [0.0, 0.0]
    begun = Source("preset:tiny").load(AutoModelForCausalLM, 7).state_dict()
    ended = AutoModelForCausalLM.from_pretrained(tmp_path / "out/model").state_dict()
    assert all(torch.equal(ended[name], value) for name, value in begun.items())


def test_shuffled_rewards_do_not_rise(tmp_path: Path) -> None:
    first = run_ranks(1, _train, _prompts(tmp_path, "tiny:shuffled_share", 1), "grpo")[0]
    assert max(step["metrics"]["reward"] for step in first["steps"]) < 0.4
