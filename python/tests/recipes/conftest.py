"""Settings of all recipe tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]
os.environ.update({"OMP_NUM_THREADS": "1", "FERMI_LANG": "en", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"})
# DeepSpeed compiles an op at first use; the environment of the tests has it ready.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
if (ready := Path(sys.prefix) / "torch_extensions").is_dir():
    os.environ["TORCH_EXTENSIONS_DIR"] = str(ready)
for name in list(os.environ):
    if name.startswith("FERMI_") and name not in ("FERMI_LANG", "FERMI_TEST_LONG"):
        os.environ.pop(name)


def pytest_configure(config: pytest.Config) -> None:
    """Names the mark of tests that take long."""
    config.addinivalue_line("markers", "long: left out unless FERMI_TEST_LONG=1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves long tests out unless they are asked for."""
    if os.environ.get("FERMI_TEST_LONG") != "1":
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="FERMI_TEST_LONG=1 runs it"))


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)
