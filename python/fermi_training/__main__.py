"""Says what a training.yaml means: `python -m fermi_training FILE [--ranks N] [--gpus|--cpu] [--json]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from .loading import load
from .mistakes import TrainingYamlError

_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the meaning of a file, or every mistake in it, and gives the exit code."""
    flags = _flags().parse_args(arguments)
    try:
        settings = load(flags.file, ranks=flags.ranks, gpus=flags.gpus)
    except TrainingYamlError as error:
        if flags.json:
            mistakes = [{"path": one.path, "text": one.text, "hint": one.hint} for one in error.mistakes]
            print(json.dumps({"mistakes": mistakes}, ensure_ascii=False, indent=2))
        return _refuse(str(error), "training.schema.json has every key")
    except OSError as error:
        return _refuse(f"cannot read {flags.file}: {error.strerror or error}", "look at the path and its permissions")
    except ValueError as error:
        return _refuse(str(error), "or give --ranks")
    print(json.dumps(settings.to_dict(), ensure_ascii=False, indent=2) if flags.json else settings.describe())
    return 0


def _flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fermi_training", description="Say what a training.yaml means.")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--ranks", type=_ranks, metavar="N", help="how many ranks train (default: WORLD_SIZE, else 1)")
    device = parser.add_mutually_exclusive_group()
    device.add_argument("--gpus", action="store_true", default=None, help="there are GPUs (default: what torch sees)")
    device.add_argument("--cpu", action="store_false", dest="gpus", help="there are none")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _ranks(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text} is no number of ranks: give a whole number of at least 1")
    return int(text)


def _refuse(text: str, hint: str) -> int:
    print(f"error: {text}\n\nhint: {hint}", file=sys.stderr)
    return _USAGE


if __name__ == "__main__":
    sys.exit(main())
