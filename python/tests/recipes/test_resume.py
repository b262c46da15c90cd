"""A run that was killed goes on sample by sample; checkpoints are whole or absent; all ranks stop at one step."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
import torch
from ranks import run_ranks
from running import Watched, sft
from test_strategies import STRATEGIES
from transformers import AutoModelForCausalLM

from fermi_train.checkpoints.beginning import chosen
from fermi_train.checkpoints.store import Checkpoint, Note, Store, check_batch, check_fits, opened, whole_ones
from fermi_train.environment import place_here
from fermi_train.messages import Refusal

EPOCH = 26


class Killed(Watched):
    """Dies without a word in step 17, in its second epoch."""

    def after_step(self, step: int) -> None:
        """Kills this rank."""
        if step == 17:
            os.kill(os.getpid(), signal.SIGKILL)


class Asked(Watched):
    """Is asked to stop in step 3, on one rank alone, and so are the processes that load for it."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        """Makes a group of the rank and of what it starts."""
        os.setpgrp()
        super().__init__(*arguments, **more)

    def after_step(self, step: int) -> None:
        """Sends the signal that a scheduler would."""
        if step == 3 and self.place.rank == 1:
            os.killpg(0, signal.SIGTERM)


class AskedMeanwhile(Watched):
    """Is asked to save in step 2, while this rank waits for the others' word on what was asked."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        """Sends the signal behind this rank's own word."""
        super().__init__(*arguments, **more)
        agree = self.world.sum

        def interrupted(*numbers: float) -> list[float]:
            together = agree(*numbers)
            if len(numbers) > 1 and len(self.every) == 1:
                os.kill(os.getpid(), signal.SIGUSR1)
            return together

        self.world.sum = interrupted


def _settings(folder: Path, **more: Any) -> Path:
    usual: dict[str, Any] = {
        "training__per_device_train_batch_size": 1,
        "training__gradient_accumulation_steps": 1,
        "training__max_steps": None,
        "training__num_train_epochs": 2,
        "training__save_strategy": "steps",
        "training__save_steps": 5,
        "training__lr_scheduler_type": "cosine",
        "training__resume_from_checkpoint": "latest",
    }
    data = tiny.write_rows(folder / "data.jsonl", tiny.answers(EPOCH))
    return tiny.settings(folder, data, **{**usual, **more})


def _samples(outcomes: list[dict[str, Any]]) -> list[list[int]]:
    return [sorted(sum(parts, [])) for parts in zip(*(one["trained"] for one in outcomes), strict=True)]


def test_a_killed_run_goes_on_sample_by_sample(tmp_path: Path) -> None:
    straight_folder, killed_folder = tmp_path / "straight", tmp_path / "killed"
    straight_folder.mkdir()
    killed_folder.mkdir()
    straight = run_ranks(2, sft, _settings(straight_folder))
    config = _settings(killed_folder)
    with pytest.raises(AssertionError, match="died without a word"):
        run_ranks(2, sft, config, Killed)
    for progress in killed_folder.glob("progress-*"):
        progress.unlink()
    rest = run_ranks(2, sft, config)
    assert rest[0]["steps"] == list(range(16, 27))
    assert _samples(rest) == _samples(straight)[15:]
    assert rest[0]["loss"] == pytest.approx(straight[0]["loss"][15:], abs=1e-6)
    assert rest[0]["rate"] == pytest.approx(straight[0]["rate"][15:])


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("ddp", {}),
        ("fsdp", STRATEGIES["fsdp"]),
        ("zero3", STRATEGIES["zero3"]),
    ],
)
def test_more_ranks_go_on_with_the_samples_that_are_left(name: str, more: dict[str, Any], tmp_path: Path) -> None:
    first = run_ranks(2, sft, _settings(tmp_path, **more, training__max_steps=8, training__num_train_epochs=None))
    for progress in tmp_path.glob("progress-*"):
        progress.unlink()
    second = run_ranks(4, sft, _settings(tmp_path, **more, training__num_train_epochs=1))
    trained = [one for outcome in [*first, *second] for step in outcome["trained"] for one in step]
    assert sorted(trained) == list(range(EPOCH))
    assert second[0]["loss"][0] < 5.0


BF16 = {"training__mixed_precision": "bf16"}
LORA = {"lora__r": 4}
OTHER_RANKS: list[Any] = [
    *((name, {}) for name in ("ddp", "fsdp", "zero1", "zero2", "zero3")),
    *((name, more) for more in (BF16, LORA) for name in ("ddp", "fsdp")),
    *(pytest.param(name, more, marks=pytest.mark.long) for more in (BF16, LORA) for name in ("zero1", "zero3")),
    *(pytest.param(name, {"training__optim": "sgd"}, marks=pytest.mark.long) for name in ("zero2", "zero3")),
]


@pytest.mark.parametrize(("name", "extra"), OTHER_RANKS, ids=lambda one: one if isinstance(one, str) else "".join(one))
def test_another_number_of_ranks_goes_the_same_way(name: str, extra: dict[str, Any], tmp_path: Path) -> None:
    more: dict[str, Any] = {
        **STRATEGIES[name],
        "training__num_train_epochs": None,
        "training__save_steps": 3,
        # Matrices decay and norms do not: a state in the wrong group goes another way.
        "training__weight_decay": 0.5,
        "training__learning_rate": 3e-2,
        **extra,
    }

    def trained(ranks: int) -> dict[str, Any]:
        size = {"training__per_device_train_batch_size": 6 // ranks, "training__max_steps": 6}
        return run_ranks(ranks, sft, _settings(tmp_path, **more, **size))[0]

    straight = trained(2)
    shutil.rmtree(tmp_path / "out/checkpoints/step-000006")
    for progress in tmp_path.glob("progress-*"):
        progress.unlink()
    rest = trained(3)
    assert rest["steps"] == [4, 5, 6]
    # In bf16 another division of the batch is another rounding.
    near = 300 if extra is BF16 else 1
    assert rest["loss"] == pytest.approx(straight["loss"][3:], abs=1e-4 * near)
    assert rest["norm"] == pytest.approx(straight["norm"][3:], abs=1e-3 * near)


def test_a_signal_to_one_rank_stops_all_after_one_whole_checkpoint(tmp_path: Path) -> None:
    config = _settings(tmp_path, training__save_steps=100, training__dataloader_num_workers=1)
    outcomes = run_ranks(2, sft, config, Asked)
    assert [one["code"] for one in outcomes] == [143, 143]
    assert outcomes[0]["steps"] == outcomes[1]["steps"] == [1, 2, 3, 4]
    (checkpoint,) = whole_ones(tmp_path / "out/checkpoints")
    assert checkpoint.note.step == 4
    # With no step left the model of the checkpoint is exported.
    more: dict[str, Any] = {"training__num_train_epochs": None, "training__max_steps": 4}
    assert [one["steps"][4:] for one in run_ranks(2, sft, _settings(tmp_path, **more))] == [[], []]
    exported = AutoModelForCausalLM.from_pretrained(tmp_path / "out/model")
    assert sft(_settings(tmp_path, **more))["code"] == 0
    bare, ids = Watched.last.strategy.bare.eval(), torch.arange(8, 40).reshape(2, 16)
    with torch.no_grad():
        assert torch.equal(exported(input_ids=ids).logits, bare(input_ids=ids).logits)


def test_a_checkpoint_that_is_asked_for_while_ranks_agree_is_saved_in_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FERMI_CHECKPOINT_SIGNAL", "SIGUSR1")
    more: dict[str, Any] = {"training__save_strategy": "no", "training__save_steps": None}
    sft(_settings(tmp_path, **more, training__max_steps=4, training__num_train_epochs=None), AskedMeanwhile)
    assert [one.note.step for one in whole_ones(tmp_path / "out/checkpoints")] == [3]


def test_a_rank_killed_while_saving_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    def note(step: int) -> Note:
        return Note(step, 0, step, 1, "ddp", 1, "x", 0, "sft")

    def dies(folder: Path) -> None:
        (folder / "half").write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)

    def save() -> None:
        store = Store(tmp_path, place_here(), 1, lambda: None)
        store.save(note(5), lambda folder: (folder / "all").touch())
        store.save(note(10), dies)

    with pytest.raises(AssertionError, match="died without a word"):
        run_ranks(1, save)
    assert [one.note.step for one in whole_ones(tmp_path)] == [5]
    latest = opened(tmp_path / "latest")
    assert latest is not None and latest.note.step == 5


@pytest.mark.parametrize(
    ("saved", "now", "is_read"),
    [
        (("single", None), ("fsdp", None), True),
        (("deepspeed", 1), ("deepspeed", 2), True),
        (("deepspeed", 2), ("deepspeed", 3), False),
        (("deepspeed", 3), ("fsdp", None), False),
        (("ddp", None), ("deepspeed", 2), False),
    ],
)
def test_a_strategy_that_cannot_read_the_files_is_refused(
    saved: tuple[str, int | None], now: tuple[str, int | None], is_read: bool
) -> None:
    note = Note(5, 0, 5, 2, saved[0], 4, "x", 7, "sft", stage=saved[1])
    run: Any = SimpleNamespace(algorithm="sft", seed=7, strategy=now[0], stage=now[1])
    with nullcontext() if is_read else pytest.raises(Refusal, match="has strategy"):
        check_fits(Checkpoint(Path("step-5"), note), run, "x")


def test_a_place_in_steps_wants_the_same_effective_batch() -> None:
    checkpoint = Checkpoint(Path("step-5"), Note(5, 0, 5, 2, "ddp", 4, "x", 7, "dpo"))
    check_batch(checkpoint, 4)
    with pytest.raises(Refusal, match="effective batch of 4, and this run has 8"):
        check_batch(checkpoint, 8)


def test_another_model_is_refused_by_its_name(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"training__max_steps": 5, "training__num_train_epochs": None}
    sft(_settings(tmp_path, **settings))
    with pytest.raises(Refusal, match=r"has model llama × \d+, and this run has opt × \d+"):
        sft(_settings(tmp_path, **settings, model__name_or_path="preset:tiny-opt"))


def test_a_step_that_is_saved_again_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    store = Store(tmp_path, place_here(), None, lambda: None)
    for word in ("first", "second"):
        store.save(Note(5, 0, 5, 1, "ddp", 1, "x", 0, "sft"), lambda folder, word=word: (folder / word).touch())
    (found,) = whole_ones(tmp_path)
    assert [path.name for path in found.state.iterdir()] == ["second"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "step-000005"]


def _saved(folder: Path, *steps: int, limit: int | None = None) -> None:
    for step in steps:
        note = Note(step, 0, step, 1, "ddp", 1, "x", 0, "sft")
        Store(folder, place_here(), limit, lambda: None).save(note, lambda _: None)


def test_what_was_written_last_is_the_newest_whatever_its_step(tmp_path: Path) -> None:
    _saved(tmp_path, 5, 10, 15)
    _saved(tmp_path, 6, limit=2)
    assert [one.note.step for one in whole_ones(tmp_path)] == [15, 6]
    _saved(tmp_path, 7, limit=2)
    assert [one.note.step for one in whole_ones(tmp_path)] == [6, 7]
    for path in (tmp_path, tmp_path / "latest"):
        newest = chosen(str(path), [], place_here())
        assert newest is not None and newest.note.step == 7
    (tmp_path / "step-000007/complete").unlink()
    newest = chosen("latest", [tmp_path], place_here())
    assert newest is not None and newest.note.step == 6


def test_a_restart_before_the_first_save_goes_back_to_the_same_checkpoint(tmp_path: Path) -> None:
    _saved(tmp_path, 5, 10)
    named = str(tmp_path / "step-000005")

    def step(resume: bool | None, resume_step: int | None = None, was_surveyed: bool = True) -> int:
        place = replace(place_here(), resume=resume, resume_step=resume_step, was_surveyed=was_surveyed)
        found = chosen(named, [tmp_path], place)
        return 0 if found is None else found.note.step

    assert (step(None), step(False), step(True)) == (5, 0, 5)
    _saved(tmp_path, 6)
    # What the launcher has found is of this run; one that does not look leaves it to the folder.
    assert (step(True, 6), step(True, was_surveyed=False)) == (6, 6)
    # On one node nobody has kept which steps are of the course that was left: the launcher names the highest.
    assert step(True, 10) == 6


def test_a_checkpoint_has_its_name_on_disk_before_another_one_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _saved(tmp_path, 5)
    known: list[list[str]] = []
    fsync = os.fsync

    def seen(descriptor: int) -> None:
        if os.path.samestat(os.fstat(descriptor), tmp_path.stat()):
            known.append(sorted(path.name for path in tmp_path.iterdir()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", seen)
    _saved(tmp_path, 10, limit=1)
    assert known == [["latest", "step-000005", "step-000010"]]
    assert [one.note.step for one in whole_ones(tmp_path)] == [10]


def _with_own_data(folder: Path) -> str:
    rank = int(os.environ["RANK"])
    own = folder / str(rank)
    own.mkdir()
    data = tiny.write_rows(own / "data.jsonl", tiny.answers(8, seed=rank))
    try:
        sft(tiny.settings(own, data))
    except Refusal as refusal:
        return refusal.shown()
    return "trained"


def test_ranks_with_other_data_are_told_apart_before_they_train(tmp_path: Path) -> None:
    for said in run_ranks(2, _with_own_data, tmp_path):
        assert "rank 1 has other data" in said and "than rank 0" in said


def test_other_data_is_refused(tmp_path: Path) -> None:
    config = _settings(tmp_path, training__max_steps=5, training__num_train_epochs=None)
    sft(config)
    tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(EPOCH, seed=9))
    with pytest.raises(Refusal, match="has data"):
        sft(config)
