"""Every recipe finds what it goes on from, whoever launched it before; one that went back by a path stays there."""

from __future__ import annotations

import importlib
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from ranks import run_ranks

from fermi_train.checkpoints.beginning import begun
from fermi_train.checkpoints.store import Note, Store, whole_ones
from fermi_train.environment import Place, place_here
from fermi_train.reading import read


def _run(folder: Path, resume: str | None = "latest") -> Any:
    return SimpleNamespace(folder=folder, saving=SimpleNamespace(resume=resume, limit=None))


def _saved(store: Store, *steps: int) -> None:
    for step in steps:
        store.save(Note(step, 0, step, 1, "ddp", 1, "x", 0, "sft"), lambda _: None)


def _begun(experiment: Path, launch: Path, named: str = "latest", **more: Any) -> tuple[Store, int]:
    place: Place = replace(place_here(), checkpoint_dir=launch, **more)
    store, found = begun(_run(experiment, named), place, lambda: None)
    return store, found.note.step if found else 0


def test_the_experiment_leads_to_the_launch_that_saved_last(tmp_path: Path) -> None:
    experiment, link = tmp_path / "outputs/mine", tmp_path / "outputs/mine/checkpoints"
    first, second, third = (tmp_path / name for name in ("run-1", "run-2", "run-3"))
    store, step = _begun(experiment, first)
    assert step == 0 and not link.exists()
    _saved(store, 2, 4)
    assert link.resolve() == first
    # The second one is killed before it saves: neither its restart nor a third one begins anew.
    assert _begun(experiment, second)[1] == 4
    assert _begun(experiment, second, resume=True, was_surveyed=True)[1] == 4
    store, step = _begun(experiment, third)
    assert step == 4
    _saved(store, 6)
    assert link.resolve() == third
    assert _begun(experiment, tmp_path / "run-4")[1] == 6


def test_a_link_to_a_launch_that_is_gone_is_no_folder(tmp_path: Path) -> None:
    own = tmp_path / "checkpoints"
    own.symlink_to(tmp_path / "gone")
    store, found = begun(_run(tmp_path), place_here(), lambda: None)
    assert found is None
    _saved(store, 1)
    assert not own.is_symlink() and (own / "latest").exists()


def test_the_step_that_the_launcher_names_is_that_of_its_own_folder(tmp_path: Path) -> None:
    own, launch = tmp_path / "mine/checkpoints", tmp_path / "run-1"
    _saved(Store(own, place_here(), None, lambda: None), 4)
    _saved(Store(launch, place_here(), None, lambda: None), 4)
    place = replace(place_here(), checkpoint_dir=launch, resume=True, resume_step=4, was_surveyed=True)
    _, found = begun(_run(tmp_path / "mine"), place, lambda: None)
    assert found is not None and found.folder.parent == launch
    # What a person has saved without a launcher stays where it is.
    assert not own.is_symlink()


def test_a_run_that_went_back_stays_there_until_it_saves(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    _saved(Store(folder, place_here(), None, lambda: None), 5, 10, 15)
    elsewhere = tmp_path / "elsewhere"
    _saved(Store(elsewhere, place_here(), None, lambda: None), 3)
    # The launcher names the highest step of the folder, which is of the course that was left.
    for named, gone_back in ((str(elsewhere), 3), (str(folder / "step-000005"), 5)):
        store, step = _begun(tmp_path, folder, named)
        assert step == gone_back
        again: dict[str, Any] = {"resume": True, "resume_step": 15, "was_surveyed": True}
        assert _begun(tmp_path, folder, named, **again)[1] == gone_back
    _saved(store, 6)
    assert _begun(tmp_path, folder, named, **again)[1] == 6
    # Another run of the folder, by another word, has not gone back.
    assert _begun(tmp_path, folder, "latest")[1] == 6
    assert _begun(tmp_path, folder, "latest", **again)[1] == 6


def test_ranks_that_torchrun_starts_again_stay_where_the_run_went_back(tmp_path: Path) -> None:
    own = tmp_path / "checkpoints"
    store = Store(own, place_here(), None, lambda: None)
    _saved(store, 5, 10, 15)
    named, again = str(own / "step-000005"), replace(place_here(), resume=True)
    for place, step in ((place_here(), 5), (again, 5)):
        _, found = begun(_run(tmp_path, named), place, lambda: None)
        assert found is not None and found.note.step == step
    _saved(store, 6)
    _, found = begun(_run(tmp_path, named), again, lambda: None)
    assert found is not None and found.note.step == 6


def test_checkpoints_from_before_their_order_was_noted_are_a_course_too(tmp_path: Path) -> None:
    own = tmp_path / "checkpoints"
    _saved(Store(own, place_here(), None, lambda: None), 5, 10)
    for note in own.glob("step-*/fermi_train.json"):
        note.write_text(note.read_text().replace('"turn": ', '"turn": 0, "was": '))
    named = str(own / "step-000005")
    more: dict[str, Any] = {"resume": True, "resume_step": 10, "was_surveyed": True}
    assert [_begun(tmp_path, own, named)[1], _begun(tmp_path, own, named, **more)[1]] == [5, 5]


def _steps(algorithm: str, config: Path) -> list[int]:
    progress = config.parent / "progress.ndjson"
    progress.unlink(missing_ok=True)
    os.environ["FERMI_PROGRESS_FILE"] = str(progress)
    recipe = importlib.import_module(f"fermi_train.recipes.{algorithm}")
    file = read(str(config), "sft" if algorithm == "jax_lm" else algorithm)
    assert recipe.train(file, place_here()) == 0
    return [line["step"] for line in tiny.lines(progress) if "loss" in line]


@pytest.mark.parametrize("algorithm", ["sft", "rm", "ppo", "jax_lm"])
def test_a_recipe_goes_on_with_what_another_launch_has_saved(algorithm: str, tmp_path: Path) -> None:
    rows = {"rm": tiny.preferences(16), "ppo": [{"prompt": f"{letter}:"} for letter in tiny.LETTERS]}
    data = tiny.write_rows(tmp_path / "data.jsonl", rows.get(algorithm, tiny.answers(16)))
    more: dict[str, Any] = {"training__save_strategy": "steps", "training__save_steps": 2}
    more |= {"training__resume_from_checkpoint": "latest"}
    if algorithm == "ppo":
        more |= {"recipe__reward": "share:a", "recipe__max_completion_length": 4}
    told = []
    for launch, steps in ((1, 2), (2, 4)):
        config = tiny.settings(tmp_path, data, **more, training__max_steps=steps)
        variables = {"FERMI_CHECKPOINT_DIR": str(tmp_path / f"run-{launch}")}
        told += run_ranks(1, _steps, algorithm, config, variables=variables)
    assert told == [[1, 2], [3, 4]]
    assert [one.note.step for one in whole_ones(tmp_path / "out/checkpoints")] == [4]
