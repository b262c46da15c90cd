"""Folders that appear whole or not at all, and in which one run writes at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from .messages import Failure, Refusal, Text

_LOCK = ".lock"
# What a person can change about a folder; anything else of the system is told as it is.
_OF_FOLDERS = (
    errno.EACCES,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
)


_HINT = Text(
    "请检查路径、权限和剩余空间；training.output_dir 与 data.cache 可以指向别处",
    "look at the path, its permissions and the space that is left; training.output_dir and data.cache may lead elsewhere",
)
# torch's writer of archives says that a write fell short, and not why.
_TORN = "inline_container"


def make(folder: Path) -> None:
    """Makes a folder with all above it, unless it is there; a path that can be none is told as such."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _told(error) from None
    except ValueError as error:
        # A letter that no path may have.
        raise _told(OSError(errno.EINVAL, str(error), str(folder))) from None


@contextmanager
def replaced(folder: Path) -> Generator[Path]:
    """Gives a folder to write in, which takes the place of `folder` at the end; where writing fails, nothing is left of it."""
    draft = folder.with_name(f".{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        yield draft
        flush(draft)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    # What was there before is whole until it is none.
    old = folder.with_name(f".{folder.name}.old.draft")
    shutil.rmtree(old, ignore_errors=True)
    with suppress(FileNotFoundError):
        folder.rename(old)
    draft.rename(folder)
    flush_one(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def without_drafts(folder: Path, lock: str) -> None:
    """Gives back the room of drafts whose writer is gone: nobody holds the lock of that name beside them.

    What has no such lock is somebody else's.
    """
    for draft in folder.glob(".*.draft"):
        name = draft.name.removesuffix(".draft").removesuffix(".old")
        try:
            with draft.with_name(name + lock).open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(draft, ignore_errors=True)
        except OSError:
            # It is being written, or cannot be known to be left.
            continue


def flush(folder: Path) -> None:
    """Waits until everything below a folder is on disk."""
    for path in [*folder.rglob("*"), folder]:
        flush_one(path)


def flush_one(path: Path) -> None:
    """Waits until a file is on disk, or the names that a folder has."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def begin_flush(path: Path) -> None:
    """Has the system begin to write a file, and goes on at once: a `flush` at the end has less to wait for."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        # What is not needed in memory any more is written first.
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


class Occupied:
    """A run's folder while that run writes in it; a second run there is refused. It ends with the process at the latest."""

    def __init__(self, folder: Path) -> None:
        """Makes the folder, and takes it."""
        make(folder)
        self._file: IO[str] = (folder / _LOCK).open("w", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise Refusal(
                Text(f"另一个训练正在写入 {folder}", f"another run is writing in {folder}"),
                Text(
                    "请等待它结束，或填写其他 training.experiment_name 或 training.output_dir",
                    "wait for its end, or give another training.experiment_name or training.output_dir",
                ),
            ) from None
        except OSError:
            # A file system without locks cannot tell.
            pass

    def leave(self) -> None:
        """Lets others in."""
        self._file.close()


def failure_of(error: BaseException) -> Failure | None:
    """Says what the system did not let happen in a folder; none where the error is another one."""
    within = list(_within(error))
    found = next((one for one in within if isinstance(one, OSError)), None)
    if found is not None:
        return _told(found) if found.errno in _OF_FOLDERS else None
    if any(isinstance(one, RuntimeError) and _TORN in str(one) for one in within):
        return Failure(
            Text("文件没有写完整，磁盘可能已满", "a file could not be written whole, perhaps for want of space"), _HINT
        )
    return None


def _told(error: OSError) -> Failure:
    # The package asks for PyYAML, and the command that says so when it is missing needs this file.
    from fermi_training.reasons import of_system

    why = of_system(error)
    place = f"{error.filename}: " if error.filename else ""
    return Failure(
        Text(f"无法读写：{place}{why.zh}", f"cannot read or write: {place}{why}"),
        _HINT,
    )


def _within(error: BaseException) -> Generator[BaseException]:
    """Gives an error and those within it: torch tells those of all ranks in one."""
    yield error
    of_ranks: dict[int, Any] = getattr(error, "failures", {})
    for one in [*(pair[0] for pair in of_ranks.values()), error.__cause__, error.__context__]:
        if one is not None:
            yield from _within(one)
