"""Where a run saves, and which checkpoint it goes on from: one answer for every recipe."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..environment import Place
from ..messages import Refusal, Text
from .store import Checkpoint, Store, opened, whole_ones

if TYPE_CHECKING:
    from ..settings import Run

# Which checkpoint was named by its path, and which one was the newest in the folder then.
_WENT_BACK = ".went-back.json"


def begun(run: Run, place: Place, barrier: Callable[[], None]) -> tuple[Store, Checkpoint | None]:
    """Gives the folder to save in and the checkpoint to go on from.

    The launcher's folder is taken where there is one, because a restart looks there. The experiment's folder, where
    `latest` looks in a later launch, has a link to it from the first checkpoint on: until then the link leads to those
    of the launch before.
    """
    own = run.folder / "checkpoints"
    given = place.checkpoint_dir
    folders = [own.resolve()] if own.exists() else []
    folder, link = own, None
    if given is not None and given.resolve() != own.resolve():
        folder = given
        folders.append(given)
        link = own if own.is_symlink() or not own.exists() or not any(own.iterdir()) else None
    resumes_from = chosen(run.saving.resume, folders, place)
    if place.saves and link is None and own.is_symlink() and not own.exists():
        # The launch that it led to is gone, with all its checkpoints.
        own.unlink(missing_ok=True)
    _note_the_way_back(run.saving.resume, resumes_from, folder, place)
    return Store(folder, place, run.saving.limit, barrier, link), resumes_from


def chosen(given: str | None, folders: list[Path], place: Place) -> Checkpoint | None:
    """Gives the checkpoint that a run goes on from: the launcher's word first, then the file's.

    `latest` is the whole one that was written last, and a new beginning where there is none; a path must lead to one.
    """
    if place.resume is False:
        return None
    if place.resume and place.resume_step is not None:
        # The folder that the launcher has looked into stands last.
        there = [one for folder in folders[-1:] for one in whole_ones(folder)]
        named = [one for one in there if one.note.step == place.resume_step]
        if not named:
            return _missing(f"step {place.resume_step}")
        # It is the highest that all nodes have. One node alone goes on from what was written last: a run that went back
        # has left higher ones, and has none of its own before its first save.
        is_alone = place.ranks == place.local_ranks
        return (_way_back(given, folders[-1]) or there[-1]) if is_alone else named[0]
    # A launcher that has looked and names no step has found none of this run: later ones are of the course that the path left.
    if given == "latest" or (place.resume and (given is None or not place.was_surveyed)):
        # Such as torchrun, which restarts ranks and looks for nothing.
        if place.resume and folders and (gone_back := _way_back(given, folders[-1])) is not None:
            return gone_back
        newest = [one for folder in folders for one in whole_ones(folder)[-1:]]
        return max(newest, key=lambda one: one.note.step, default=None)
    if given is None:
        return None
    path = Path(given)
    if (found := opened(path)) is not None:
        return found
    inside = whole_ones(path) if path.is_dir() else []
    return inside[-1] if inside else _missing(given)


def _note_the_way_back(given: str | None, found: Checkpoint | None, folder: Path, place: Place) -> None:
    """Notes a checkpoint that was named by its path, for a restart before the first save; another beginning removes the note."""
    if place.resume or not place.saves:
        return
    note = folder / _WENT_BACK
    # A full disk loses the note; it never stops a training.
    with suppress(OSError):
        note.unlink(missing_ok=True)
        if given != "latest" and found is not None and whole_ones(folder):
            draft = note.with_name(f"{_WENT_BACK}.draft")
            noted = {"given": given, "checkpoint": str(found.folder), "turn": _newest_turn(folder)}
            draft.write_text(json.dumps(noted), encoding="utf-8")
            os.replace(draft, note)


def _way_back(given: str | None, folder: Path) -> Checkpoint | None:
    """Gives the checkpoint that this run has gone back to; none once it has saved one of its own, and for other runs."""
    try:
        found: Any = json.loads((folder / _WENT_BACK).read_text(encoding="utf-8"))
        is_here = found["given"] == given and found["turn"] == _newest_turn(folder)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return opened(Path(found["checkpoint"])) if is_here else None


def _newest_turn(folder: Path) -> int:
    return max((one.note.turn for one in whole_ones(folder)), default=0)


def _missing(given: str) -> Checkpoint:
    raise Refusal(
        Text(f"“{given}” 不是完整的检查点", f"{given} is no whole checkpoint"),
        Text(
            "请检查 training.resume_from_checkpoint，或填写 latest",
            "look at training.resume_from_checkpoint, or give latest",
        ),
    )
