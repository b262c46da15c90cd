"""The demo's notebooks run from top to bottom, its checks pass, and the seeds' scripts lead where they say."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from ranks import run_ranks

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "examples/llm-distributed-training-demo"
LAUNCHER = "torch.distributed.run"
NOTEBOOKS = ("01_distributed_concepts", "02_deepspeed_training", "03_fsdp_implementation")


def _run(*words: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_the_tree_of_the_demo_is_whole() -> None:
    import json

    described = json.loads((DEMO / "metadata.json").read_text())
    for path in [described["entry"], *described["configs"], *described["notebooks"]]:
        assert (DEMO / path).is_file(), path


def _launched(words: list[str], **more: Any) -> SimpleNamespace:
    """Stands for torchrun: its script with its words, on as many ranks, forked."""
    ranks = int(words[words.index("--nproc-per-node") + 1])
    script = next(place for place, word in enumerate(words) if word.endswith(".py"))

    def one_rank() -> str:
        os.chdir(more["cwd"])
        sys.argv = words[script:]
        with redirect_stderr(StringIO()) as said:
            try:
                runpy.run_path(words[script], run_name="__main__")
            except SystemExit as ended:
                assert not ended.code, said.getvalue()
        return said.getvalue()

    return SimpleNamespace(returncode=0, stderr=run_ranks(ranks, one_rank)[0])


def _cells(name: str) -> None:
    """Executes the cells of a notebook in one namespace; its ranks are forked, so that nothing is imported again."""
    import json

    os.chdir(DEMO / "notebooks")
    sys.path.insert(0, str(DEMO))
    from utils import distributed_utils

    distributed_utils.run_ranks = run_ranks
    usual: Any = subprocess.run
    subprocess.run = lambda words, **more: (_launched if LAUNCHER in words else usual)(words, **more)  # type: ignore
    space: dict[str, object] = {"__name__": "__main__"}
    for cell in json.loads(Path(f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), space)


@pytest.mark.parametrize(
    ("name", "said"), [("evaluate_scaling", "scale 1 2\n"), ("setup_cluster", "setup-cluster 1 2\n")]
)
def test_a_script_of_the_demo_is_fermi_with_its_words(name: str, said: str, tmp_path: Path) -> None:
    done = _run(str(DEMO / f"scripts/{name}.py"), "1", "2", folder=tmp_path, FERMI_BIN="echo")
    assert (done.stdout, done.stderr) == (said, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--mode manual --world-size 2", "run --mode manual --world-size 2 scripts/train.py"),
        ("--algorithm sft", "run main.py --mode train --algorithm sft"),
        ("--config no.yaml --world-size 2", "run --world-size 2 main.py --mode train --config no.yaml"),
    ],
)
def test_the_launcher_of_this_folder_takes_the_script_that_trains_with_these_words(words: str, said: str) -> None:
    done = _run("scripts/run_distributed.py", *words.split(), folder=ROOT, FERMI_BIN="echo")
    assert (done.stdout, done.stderr) == (said + "\n", "")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_cells_of_a_notebook_hold(name: str) -> None:
    run_ranks(1, _cells, name)


@pytest.mark.long
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_from_top_to_bottom(name: str) -> None:
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(DEMO / f"notebooks/{name}.ipynb", as_version=4)
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(DEMO / "notebooks")}}).execute()


@pytest.mark.long
@pytest.mark.parametrize("name", ["test_distributed_setup", "test_deepspeed_integration"])
def test_the_demos_own_checks_pass(name: str) -> None:
    done = _run(f"tests/{name}.py", folder=DEMO, MASTER_PORT="29733")
    assert done.returncode == 0, done.stderr
    assert "✅" in done.stdout


def _main(*words: str) -> None:
    """Is main.py with these words, in a process that has imported everything."""
    sys.argv = ["main.py", *words]
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "main.py"), run_name="__main__")
    assert ended.value.code == 0


def test_main_trains_by_the_words_that_people_know(tmp_path: Path) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(8))
    config = tiny.settings(tmp_path, data, training__max_steps=2)
    run_ranks(1, _main, "--mode", "train", "--config", str(config), "--algorithm", "sft")
    assert (tmp_path / "out/model/config.json").exists()
    refused = _run(str(ROOT / "main.py"), "--mode", "dance", folder=tmp_path)
    assert refused.returncode == 2 and "hint: give --mode train" in refused.stderr


def test_jax_trains_and_goes_on(tmp_path: Path) -> None:
    script = str(ROOT / "scripts/train.py")
    more = ["--set", f"data.cache={tmp_path / 'prepared'}", "--set", "training.save_steps=5"]
    for steps in ("10", "15"):
        resumes = ["--set", "training.resume_from_checkpoint=latest", "--set", f"training.max_steps={steps}"]
        done = _run(script, *more, *resumes, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    log = (tmp_path / "outputs/jax_demo/logs/training.log").read_text()
    assert "goes on from step 10" in log
    first, last = (float(log.split(f"step {n}  loss ")[1].split()[0]) for n in ("1/10", "15/15"))
    assert last < 0.8 * first
