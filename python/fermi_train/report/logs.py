"""Three logs of a run: all of rank 0, warnings and errors of the others, and what concerns their communication."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from ..messages import Text

TRAINING, DISTRIBUTED = "fermi_train", "fermi_train.distributed"
_LINE = "%(asctime)s %(levelname)s %(message)s"


def open_logs(folder: Path, rank: int) -> None:
    """Opens `logs/training.log` and `logs/distributed.log` on rank 0, `logs/worker-<rank>.log` on the others."""
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    training, distributed = logging.getLogger(TRAINING), logging.getLogger(DISTRIBUTED)
    for logger in (training, distributed):
        close(logger)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    if rank == 0:
        training.addHandler(_file(logs / "training.log", logging.INFO))
        training.addHandler(_terminal())
        distributed.addHandler(_file(logs / "distributed.log", logging.INFO))
    else:
        worker = _file(logs / f"worker-{rank}.log", logging.WARNING, delay=True)
        training.addHandler(worker)
        distributed.addHandler(worker)


def training() -> logging.Logger:
    """Gives the log of the training."""
    return logging.getLogger(TRAINING)


def distributed() -> logging.Logger:
    """Gives the log of what ranks have to do with each other."""
    return logging.getLogger(DISTRIBUTED)


def close(logger: logging.Logger) -> None:
    """Closes what an earlier run has opened."""
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()


class _Lines(logging.FileHandler):
    """A log that loses lines on a full disk, and says so once."""

    _has_said = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Is called where a line could not be written."""
        if not self._has_said:
            self._has_said = True
            text = Text(f"无法写入 {self.baseFilename}，日志有缺失", f"lines are missing in {self.baseFilename}")
            print(f"{text}: {sys.exc_info()[1]}", file=sys.stderr)


def _file(path: Path, level: int, delay: bool = False) -> logging.Handler:
    handler = _Lines(path, encoding="utf-8", delay=delay)
    handler.setLevel(level)
    handler.setFormatter(logging.Formatter(_LINE))
    return handler


def _terminal() -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    return handler
