"""What a launcher asks before any rank starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny
import yaml
from packaging.requirements import Requirement

from fermi_train import libraries
from fermi_train.command import main
from fermi_train.reading import read

PYTHON = Path(__file__).parents[2]


def _file(folder: Path, **more: Any) -> str:
    data = tiny.write_rows(folder / "data.jsonl", tiny.answers(4))
    return str(tiny.settings(folder, data, **more))


def test_the_ranges_are_those_of_the_package() -> None:
    declared = (PYTHON / "pyproject.toml").read_text(encoding="utf-8")
    for requirement in libraries.REQUIREMENTS.values():
        assert f'"{requirement}"' in declared


def test_what_is_tested_is_within_the_ranges() -> None:
    ranges = {one.name: one for one in map(Requirement, libraries.REQUIREMENTS.values())}
    lines = (PYTHON.parent / "tests/requirements.txt").read_text(encoding="utf-8").split()
    tested = dict(line.split("==") for line in lines)
    # Fetched along with others.
    assert sorted(ranges.keys() - tested.keys()) == ["tqdm"]
    assert [name for name, one in ranges.items() if name in tested and tested[name] not in one.specifier] == []


def test_a_run_is_described_without_importing_what_trains(tmp_path: Path) -> None:
    code = "import sys; from fermi_train.command import main; main(sys.argv[1:]); assert 'torch' not in sys.modules"
    words = ["check", "--config", _file(tmp_path), "--algorithm", "sft", "--ranks", "4"]
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=PYTHON, capture_output=True, text=True, check=True)
    described = json.loads(done.stdout)
    assert (described["strategy"], described["micro"], described["maxLength"]) == ("ddp", 2, 64)
    assert described["modelConfig"]["hidden_size"] == 64


def test_a_library_that_is_missing_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = libraries.find_spec
    monkeypatch.setattr(libraries, "find_spec", lambda name: None if name == "trl" else there(name))
    config = _file(tmp_path)
    assert main(["check", "--config", config, "--algorithm", "dpo"]) == 2
    said = capsys.readouterr().err
    assert "trl is not installed" in said and "-m pip install 'trl>=1.16,<1.17'" in said
    assert main(["check", "--config", config, "--algorithm", "sft"]) == 0


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["-m", "fermi_train", "prepare"], ""),
        (["-m", "fermi_train", "--algorithm", "sft", "--config"], ", torch"),
        ([str(PYTHON.parent / "scripts/train.py"), "--config"], ", jax, optax"),
    ],
)
def test_all_that_is_missing_is_named_at_once(words: list[str], more: str, tmp_path: Path) -> None:
    # A Python with PyYAML alone, as a plain `pip install` leaves it.
    (tmp_path / "site").mkdir()
    (tmp_path / "site/yaml").symlink_to(Path(yaml.__file__).parent)
    command = [sys.executable, "-S", *words, _file(tmp_path)]
    variables = {"PYTHONPATH": f"{tmp_path / 'site'}:{PYTHON}", "FERMI_LANG": "en"}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    first = done.stderr.splitlines()[0]
    assert first == f"error: transformers, pyarrow, numpy, tqdm{more} are not installed"


def test_auto_is_decided_by_the_models_own_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = _file(tmp_path, training__distributed_strategy="auto")
    assert main(["check", "--config", config]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["strategy"] == "ddp" and 10_000 < described["parameters"] < 1_000_000


@pytest.mark.parametrize(
    ("algorithm", "more", "named"),
    [
        ("sft", {"recipe__beta": 0.1}, "recipe.beta"),
        ("dpo", {"recipe__gamma": 0.9}, "recipe.gamma"),
        ("rm", {"training__distributed_strategy": "fsdp"}, "fsdp"),
        ("grpo", {"recipe__reward": "exact", "recipe__num_generations": 3}, "num_generations 3"),
        ("ppo", {}, "no reward"),
    ],
)
def test_what_a_recipe_would_refuse_is_refused_before(
    algorithm: str, more: dict[str, Any], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--config", _file(tmp_path, **more), "--algorithm", algorithm, "--ranks", "2"]) == 2
    assert named in capsys.readouterr().err


def test_a_refusal_of_another_rank_reaches_the_user(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, has_hint in (("0", True), ("1", False)):
        monkeypatch.setenv("RANK", "3")
        monkeypatch.setenv("LOCAL_RANK", place)
        assert main(["--config", "nowhere.yaml"]) == 2
        said = capsys.readouterr().err
        assert "cannot read nowhere.yaml" in said and ("hint:" in said) == has_hint


def test_wandb_is_offline_without_a_key(tmp_path: Path) -> None:
    # In a process of its own, for it leaves one behind until that ends.
    code = (
        "import sys; from pathlib import Path; from fermi_train.report.trackers import trackers_of;"
        "(tracker,) = trackers_of(('wandb',), Path(sys.argv[1]), 'mine');"
        "tracker.log(1, {'loss': 2.0}); tracker.log(2, {'loss': 1.0}); tracker.close()"
    )
    unset = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    folders = {"WANDB_CONFIG_DIR": str(tmp_path / "config"), "WANDB_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=PYTHON, capture_output=True, text=True, env={**unset, **folders}
    )
    assert done.returncode == 0, done.stderr
    (written,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    kept = written.read_bytes()
    assert b"mine" in kept and b"fermi" in kept and kept.count(b"loss") >= 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"data__train": "nowhere.jsonl"}, "nowhere.jsonl"),
        ({"data__eval": "gone", "training__eval_strategy": "epoch"}, "gone"),
        ({"model__name_or_path": "/nowhere/model"}, "there is no folder /nowhere/model with a model"),
        ({"model__name_or_path": "config:./nowhere"}, "there is no folder ./nowhere with a model"),
        ({"model__name_or_path": "preset:tony"}, "there is no preset 'tony'"),
    ],
)
def test_what_is_nowhere_is_said_before_a_rank_starts(
    more: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--config", _file(tmp_path, **more), "--algorithm", "sft"]) == 2
    assert said in capsys.readouterr().err


def test_usual_values_of_a_launch_are_not_the_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = _file(tmp_path, training__distributed_strategy="deepspeed")
    made = tmp_path / "ds_config.json"
    made.write_text('{"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 500}}}', encoding="utf-8")
    variables = {"FERMI_TRAINING_FILE": config, "FERMI_FRAMEWORK": "deepspeed", "FERMI_CONFIG_FILE": str(made)}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert read(None, "sft").deepspeed_json is None
    # A file that the user named comes as the launch has it.
    changed = read(None, "sft", changes=("training.deepspeed.config_path=mine.json",))
    assert changed.deepspeed_json is not None and "scheduler" in changed.deepspeed_json
