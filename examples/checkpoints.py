"""Where the examples go on and which ranks save, by what the launcher says; torchrun and others say less.

  FERMI_CHECKPOINT_DIR     where checkpoints live (else ./checkpoints)
  FERMI_CHECKPOINT_SHARED  "0" where every node has a folder of its own
  FERMI_RESUME             "1" when this attempt shall continue, "0" when a later one begins anew
  FERMI_RESUME_STEP        the step that every rank goes on from; not set where the newest is meant
"""

import os
from pathlib import Path

CHECKPOINTS = Path(os.environ.get("FERMI_CHECKPOINT_DIR", "checkpoints"))
SHARED = os.environ.get("FERMI_CHECKPOINT_SHARED", "1") == "1"
RESTARTS = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
RESUME = os.environ.get("FERMI_RESUME", "1" if RESTARTS else "0") == "1"


def saves(rank: int) -> bool:
    """Whether this rank writes what all ranks have: one for each folder."""
    return rank == 0 or (not SHARED and os.environ.get("LOCAL_RANK") == "0")


def chosen(pattern: str) -> Path | None:
    """The checkpoint to go on from; `pattern` has a * for the step, six digits wide. None for a new beginning."""
    if not RESUME:
        return None
    if step := os.environ.get("FERMI_RESUME_STEP"):
        return CHECKPOINTS / pattern.replace("*", f"{int(step):06d}")
    return max(CHECKPOINTS.glob(pattern), default=None)


def withdraw_later(step: int, rank: int) -> None:
    """Steps that will be done again are not complete while they are written anew."""
    if saves(rank):
        for mark in CHECKPOINTS.glob("step-*/complete"):
            if int(mark.parent.name.removeprefix("step-")) > step:
                mark.unlink()
