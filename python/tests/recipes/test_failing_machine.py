"""What machines do to a run: full disks, power cuts, folders that cannot be written, a second run in the same place."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from ranks import run_ranks
from running import Watched, sft

from fermi_train.checkpoints.beginning import chosen
from fermi_train.checkpoints.store import Checkpoint, Note, Store, check_fits, opened, whole_ones
from fermi_train.command import main
from fermi_train.data.prepare import prepare
from fermi_train.data.request import request_of
from fermi_train.environment import place_here
from fermi_train.folders import Occupied, failure_of, replaced
from fermi_train.messages import Failure, Refusal
from fermi_train.models.bytes_tokenizer import bytes_tokenizer
from fermi_train.report import logs

PYTHON = Path(__file__).parents[2]


def _no_room(size: int) -> None:
    """Lets no file of this process grow beyond a size: what is written then fails, as it does on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


class Filled(Watched):
    """Has no room left from step 3 on."""

    def after_step(self, step: int) -> None:
        """Takes the room."""
        if step == 3:
            _no_room(1 << 16)


def _settings(folder: Path, **more: Any) -> Path:
    data = tiny.write_rows(folder / "data.jsonl", tiny.answers(8))
    return tiny.settings(folder, data, **{"training__save_strategy": "steps", "training__save_steps": 2, **more})


def test_a_full_disk_leaves_the_checkpoint_before_and_no_draft(tmp_path: Path) -> None:
    def trained() -> str:
        try:
            sft(_settings(tmp_path), Filled)
        except Failure as failure:
            return failure.shown()
        return "trained"

    (said,) = run_ranks(1, trained)
    assert "step-000004 is not saved; cannot read or write" in said and "File too large" in said
    folder = tmp_path / "out/checkpoints"
    assert sorted(path.name for path in folder.iterdir()) == ["latest", "step-000002"]
    latest = opened(folder / "latest")
    assert latest is not None and latest.note.step == 2


def test_preparing_on_a_full_disk_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(200))

    def prepared() -> tuple[int, str]:
        _no_room(4096)
        with redirect_stderr(StringIO()) as said:
            return main(["prepare", str(data), "--output", str(tmp_path / "prepared")]), said.getvalue()

    ((code, said),) = run_ranks(1, prepared)
    assert code == 1 and "train-000000.arrow: File too large" in said
    assert [path.suffix for path in (tmp_path / "prepared").iterdir()] == [".lock"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    config = _settings(tmp_path, training__output_dir=str(tmp_path / "file" / "out"))
    assert main(["--config", str(config), "--algorithm", "sft"]) == 1
    said = capsys.readouterr().err
    assert "Not a directory" in said and str(tmp_path / "file") in said and "hint: look at the path" in said


@pytest.mark.parametrize(
    ("output", "said"), [("file", "File exists"), ("/proc/none", "No such file"), ("a\0b", "embedded null byte")]
)
def test_a_folder_for_prepared_data_that_cannot_be_made_is_named(
    output: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(3))
    assert main(["prepare", str(data), "--output", str(tmp_path / output)]) == 1
    told = capsys.readouterr().err
    assert said in told and "hint: look at the path" in told


def test_an_archive_of_torch_that_finds_no_room_is_told_in_a_sentence(tmp_path: Path) -> None:
    def saved() -> str:
        _no_room(1 << 16)
        store = Store(tmp_path, place_here(), None, lambda: None)
        try:
            note = Note(4, 0, 4, 1, "deepspeed", 1, "x", 0, "sft")
            store.save(note, lambda folder: torch.save(torch.zeros(100_000), folder / "states.pt"))
        except Failure as failure:
            return failure.shown()
        return "saved"

    (said,) = run_ranks(1, saved)
    assert "step-000004 is not saved; a file could not be written whole" in said and list(tmp_path.iterdir()) == []


def test_an_error_of_another_rank_is_found_in_that_of_all() -> None:
    from torch.distributed.checkpoint.api import CheckpointException

    short = RuntimeError("[enforce fail at inline_container.cc:671] . unexpected pos 704 vs 598")
    for one, said in ((short, "written whole"), (OSError(28, "No space left on device"), "No space left")):
        failure = failure_of(CheckpointException("save", {1: (one, None)}))  # type: ignore[dict-item]
        assert failure is not None and said in failure.text.en
    assert failure_of(CheckpointException("save", {1: (RuntimeError("another"), None)})) is None  # type: ignore[dict-item]


def test_a_folder_for_checkpoints_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FERMI_CHECKPOINT_DIR", "/proc/none")
    assert main(["--config", str(_settings(tmp_path)), "--algorithm", "sft"]) == 1
    told = capsys.readouterr().err
    assert "cannot read or write: /proc/none: No such file" in told and "Traceback" not in told


def test_a_batch_that_no_memory_holds_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Of positions alone: the system refuses so much at once.
    monkeypatch.setattr("fermi_train.data.loading.share", lambda *_: np.zeros(10**15))
    assert main(["--config", str(_settings(tmp_path)), "--algorithm", "sft"]) == 1
    told = capsys.readouterr().err
    assert "error: there is not enough memory" in told and "hint: take a smaller per_device" in told
    assert "Traceback" not in told


def test_a_log_on_a_full_disk_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    handler = logs._file(Path("/dev/full"), 0)
    logger = logs.logging.Logger("full")
    logger.addHandler(handler)
    for _ in range(3):
        logger.warning("a line")
    assert capsys.readouterr().err.count("lines are missing in /dev/full") == 1
    logger.removeHandler(handler)
    with pytest.raises(OSError, match="No space left"):
        handler.close()


def test_a_second_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    config = _settings(tmp_path, training__max_steps=1)
    first = Occupied(tmp_path / "out")
    with pytest.raises(Refusal, match="another run is writing in"):
        sft(config)
    first.leave()
    assert sft(config)["code"] == 0
    # The end of a run leaves it, so that the next one may begin.
    Occupied(tmp_path / "out").leave()


@pytest.mark.parametrize("left", [b"", b'{"step": 4', b"[]", b'{"step": 4}', None])
def test_a_torn_checkpoint_is_none_and_the_one_before_is_taken(left: bytes | None, tmp_path: Path) -> None:
    store = Store(tmp_path, place_here(), None, lambda: None)
    for step in (2, 4):
        store.save(Note(step, 0, step, 1, "ddp", 1, "x", 0, "sft"), lambda folder: (folder / "all").touch())
    note = tmp_path / "step-000004/fermi_train.json"
    note.unlink() if left is None else note.write_bytes(left)
    found = chosen("latest", [tmp_path], place_here())
    assert found is not None and found.note.step == 2
    with pytest.raises(Refusal, match="no whole checkpoint"):
        chosen(str(tmp_path / "step-000004"), [tmp_path], place_here())


def test_what_was_never_finished_gives_its_room_back(tmp_path: Path) -> None:
    (tmp_path / "step-000002.draft/state").mkdir(parents=True)
    Store(tmp_path, place_here(), None, lambda: None).save(Note(4, 0, 4, 1, "ddp", 1, "x", 0, "sft"), lambda _: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "step-000004"]
    assert [one.note.step for one in whole_ones(tmp_path)] == [4]


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    for word in ("first", "second"):
        with replaced(tmp_path / "model") as draft:
            (draft / word).touch()
    with pytest.raises(KeyError), replaced(tmp_path / "model") as draft:
        (draft / "third").touch()
        raise KeyError
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "second"]


def test_prepared_data_that_was_torn_is_made_anew(tmp_path: Path) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(5))
    request = request_of((str(data),), "sft", None, 64)

    def again() -> Any:
        return prepare(request, bytes_tokenizer(), tmp_path / "prepared", 1)

    folder = again().folder
    (folder / "prepared.json").write_bytes(b"")
    assert len(again().train()) == 5
    next(folder.glob("train-*.arrow")).unlink()
    with pytest.raises(Refusal, match="has 0 samples, and was made with 5"):
        again().train()


def test_states_of_another_lora_or_optimiser_are_refused() -> None:
    note = Note(5, 0, 5, 2, "ddp", 4, "x", 7, "sft", holds="lora.r 8, adam")
    usual = {"algorithm": "sft", "seed": 7, "strategy": "ddp", "stage": None, "precision": "bf16"}

    def fits(lora: Any, optimiser: str) -> None:
        run: Any = SimpleNamespace(**usual, lora=lora, optimiser=SimpleNamespace(name=optimiser))
        check_fits(Checkpoint(Path("step-5"), note), run, "x")

    fits(SimpleNamespace(rank=8), "adamw_torch_fused")
    for lora, optimiser in ((None, "adamw_torch"), (SimpleNamespace(rank=4), "adamw_torch"), (None, "sgd")):
        with pytest.raises(Refusal, match="has LoRA and optimiser lora.r 8, adam, and this run"):
            fits(lora, optimiser)


def test_lora_beside_layers_that_are_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="LoRA does not fit the model"):
        sft(_settings(tmp_path, lora__target_modules=["nowhere"]))


def test_a_batch_that_is_never_full_is_refused(tmp_path: Path) -> None:
    config = _settings(tmp_path, training__dataloader_drop_last=True, training__per_device_train_batch_size=8)
    with pytest.raises(Refusal, match="8 samples, fewer than the effective batch of 16"):
        sft(config)


def test_weights_that_are_none_are_refused(tmp_path: Path) -> None:
    sft(_settings(tmp_path, training__max_steps=1))
    model = tmp_path / "out/model"
    (model / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(Refusal, match="cannot load the model"):
        sft(_settings(tmp_path, model__name_or_path=str(model)))


def test_neither_home_nor_an_encoding_for_chinese_is_needed(tmp_path: Path) -> None:
    folder = tmp_path / "数据"
    folder.mkdir()
    data = tiny.write_rows(folder / "行.jsonl", tiny.answers(3))
    variables = {"PATH": os.environ["PATH"], "FERMI_LANG": "zh", "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(PYTHON)}
    words = [sys.executable, "-m", "fermi_train", "prepare", str(data), "--output", str(folder / "out")]
    done = subprocess.run(words, env=variables, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "训练样本 3" in done.stdout.decode("ascii").encode().decode("unicode_escape")


def test_an_interrupt_is_told_without_a_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("fermi_train.preparing.prepare_command", interrupted)
    assert main(["prepare", "data.jsonl"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_words_that_nobody_reads_are_left_without_a_trace(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    code = "from fermi_train import checking, command\n"
    code += "checking.check_command = lambda words: print('x' * 100000, flush=True)\n"
    code += "raise SystemExit(command.main(['check']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=PYTHON, stdout=writes, stderr=subprocess.PIPE, check=False)
    os.close(writes)
    assert (done.returncode, done.stderr) == (141, b"")
