"""Every variable that is read or set, in one place."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path

# Set before tokenizers, torch or TRL are imported.
_BEFORE_IMPORTS = {
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}
# Where a machine, a sandbox without the driver's folder, Windows' Linux, and AMD have a GPU.
_OF_GPUS = ("/proc/driver/nvidia", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd")


def prepare_imports() -> None:
    """Sets what libraries read while they are imported; what a person has set stays."""
    for name, value in _BEFORE_IMPORTS.items():
        os.environ.setdefault(name, value)
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    if hidden or not any(Path(path).exists() for path in _OF_GPUS):
        # DeepSpeed looks for an accelerator at its first import, which transformers does too.
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    # Said by torch where one rank saves alone, which is meant.
    warnings.filterwarnings("ignore", message="torch.distributed is disabled, unavailable or uninitialized")


@dataclass(frozen=True)
class Place:
    """Where this process stands among all ranks, and the folders that its launcher gave it."""

    rank: int
    ranks: int
    local_rank: int
    local_ranks: int
    checkpoint_dir: Path | None
    shares_checkpoints: bool
    output_dir: Path | None
    progress_file: Path | None
    resume: bool | None
    resume_step: int | None
    # Whether the launcher has looked which checkpoints of this run there are.
    was_surveyed: bool
    checkpoint_signal: str | None

    @property
    def is_first(self) -> bool:
        """Says whether this is rank 0, the only one that shows bars and writes what all ranks have."""
        return self.rank == 0

    @property
    def saves(self) -> bool:
        """Says whether this rank writes what all ranks have: one for each checkpoint folder."""
        return self.rank == 0 or (not self.shares_checkpoints and self.local_rank == 0)


def place_here() -> Place:
    """Reads the launcher's variables; without a launcher this process trains alone."""
    get = os.environ.get
    restarts = int(get("TORCHELASTIC_RESTART_COUNT", "0") or 0)
    resume = get("FERMI_RESUME") or ("1" if restarts else None)
    step, folder = get("FERMI_RESUME_STEP"), _path(get("FERMI_CHECKPOINT_DIR"))
    return Place(
        rank=int(get("RANK", "0")),
        ranks=int(get("WORLD_SIZE", "1")),
        local_rank=int(get("LOCAL_RANK", "0")),
        local_ranks=int(get("LOCAL_WORLD_SIZE", get("WORLD_SIZE", "1"))),
        checkpoint_dir=folder,
        shares_checkpoints=get("FERMI_CHECKPOINT_SHARED", "1") != "0",
        output_dir=_path(get("FERMI_OUTPUT_DIR")),
        progress_file=_path(get("FERMI_PROGRESS_FILE")),
        resume=None if resume is None else resume == "1",
        resume_step=int(step) if step else None,
        was_surveyed=folder is not None and get("FERMI_RESUME") == "1",
        checkpoint_signal=get("FERMI_CHECKPOINT_SIGNAL") or None,
    )


def collective_timeout() -> int | None:
    """Gives the seconds after which a collective is given up, where the launch names them."""
    given = os.environ.get("FERMI_COLLECTIVE_TIMEOUT")
    return int(given) if given else None


def dataset_path() -> str | None:
    """Gives the dataset that the task has chosen."""
    return os.environ.get("FERMI_DATASET_PATH") or None


def model_path() -> str | None:
    """Gives the model that the task has chosen."""
    return os.environ.get("FERMI_MODEL_PATH") or None


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
