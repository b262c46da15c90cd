"""`pip install ./python` brings everything that the packages read."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

PYTHON = Path(__file__).parents[2]
PACKAGES = ("fermi_train", "fermi_training")


def _files(folder: Path) -> set[str]:
    found = (path for name in PACKAGES for path in (folder / name).rglob("*"))
    return {str(path.relative_to(folder)) for path in found if path.is_file() and "__pycache__" not in path.parts}


def test_what_pip_installs_is_whole_and_runs_alone(tmp_path: Path) -> None:
    # Beside its source a build would leave folders of its own.
    for name in PACKAGES:
        shutil.copytree(PYTHON / name, tmp_path / "python" / name)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(PYTHON / name, tmp_path / "python")
    target = tmp_path / "site"
    words = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", *words, str(tmp_path / "python")], check=True, capture_output=True)
    assert _files(target) == _files(PYTHON)
    for command, said in (("fermi-train", "--algorithm"), ("fermi-training", "--ranks")):
        done = subprocess.run(
            [str(target / "bin" / command), "--help"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(target), "FERMI_LANG": "en"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "") and said in done.stdout
