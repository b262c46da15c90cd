"""`python -m fermi_train --config training.yaml --algorithm sft`, and `python -m fermi_train prepare`."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from . import environment
from .arguments import Arguments
from .folders import failure_of
from .imported import NotImported, imported
from .libraries import EVERY, PREPARING, refusal_of
from .messages import Failure, Refusal, Text

_USAGE = 2
# What torch says of the memory of this machine; of a GPU's it has an error of its own.
_NO_MEMORY = "can't allocate memory"


def main(arguments: Sequence[str] | None = None, prog: str | None = None) -> int:
    """Does what the command line asks for, and gives the exit code; `prog` is the name of a script that stands for this."""
    environment.prepare_imports()
    _speak_anywhere()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words[:1] == ["prepare"]:
            from . import prepare_flags

            flags = prepare_flags.parse(words[1:], prog or "fermi_train prepare")
            from .preparing import prepare_command

            return prepare_command(flags)
        if words[:1] == ["check"]:
            from .checking import check_command

            return check_command(words[1:])
        return _train(_flags(prog or "fermi_train").parse_args(words))
    except ModuleNotFoundError as error:
        refusal = refusal_of(error, PREPARING if words[:1] == ["prepare"] else EVERY)
        if refusal is None:
            raise
        print(refusal.shown(), file=sys.stderr)
        return _USAGE
    except Refusal as refusal:
        return _told(refusal)
    except MemoryError as error:
        return _told(_no_memory(error))
    except KeyboardInterrupt:
        print(Text("已中断", "interrupted"), file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Nobody reads on: what is still to be written, at the very end too, goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:
        if (failure := failure_of(error)) is None:
            raise
        return _told(failure)


def _told(refusal: Refusal) -> int:
    # A path may be missing on one node alone: each says so, and the advice is given once there.
    is_first_here = environment.place_here().local_rank == 0
    print(refusal.shown() if is_first_here else refusal.text, file=sys.stderr)
    return refusal.code


def _no_memory(error: MemoryError) -> Failure:
    why = f": {error}" if str(error) else ""
    return Failure(
        Text(f"内存不足{why}", f"there is not enough memory{why}"),
        Text(
            "请减小 per_device_train_batch_size 或 max_seq_length",
            "take a smaller per_device_train_batch_size or max_seq_length",
        ),
    )


def _speak_anywhere() -> None:
    """Writes a letter that the terminal's encoding does not have by its number, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _train(flags: argparse.Namespace) -> int:
    from .reading import read

    place = environment.place_here()
    changes = tuple(flags.set)
    file = read(flags.config, flags.algorithm, changes=changes, output=flags.output_dir)
    if (
        file.keys.take("model.parameters") is None
        and file.settings.values.get("training.distributed_strategy") == "auto"
    ):
        from .settings import source_of

        size = source_of(file.keys).parameters()
        file = read(flags.config, flags.algorithm, size, changes, output=flags.output_dir)
    recipe = importlib.import_module(f".recipes.{_FILES[file.algorithm]}", __package__)
    more: dict[str, Any] = {"kind": _trainer(flags.trainer)} if flags.trainer else {}
    if flags.trainer and file.algorithm != "sft":
        raise Refusal(
            Text("--trainer 只用于 sft", "--trainer is for sft alone"), Text("请删除 --trainer", "remove --trainer")
        )
    try:
        return int(recipe.train(file, place, **more))
    except (Refusal, ModuleNotFoundError, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    # torch's own error of checkpoints is no `Exception`.
    except BaseException as error:
        if isinstance(error, OSError) and failure_of(error) is not None:
            raise
        if isinstance(error, RuntimeError) and _NO_MEMORY in str(error):
            raise _no_memory(MemoryError()) from error
        # The others' errors reach the user too: each rank's log file and its own stderr have them.
        from .report import logs

        if logs.training().handlers:
            logs.training().error("%s", traceback.format_exc())
        if not logs.training().handlers or not place.is_first:
            traceback.print_exc()
        return 1


_FILES = {"sft": "sft", "reward": "rm", "dpo": "dpo", "grpo": "grpo", "ppo": "ppo"}


def _trainer(name: str) -> Any:
    from .trainer import BaseTrainer

    try:
        found = imported(name)
    except NotImported as error:
        raise Refusal(
            Text(f"无法加载训练器 “{name}”：{error}", f"cannot load the trainer {name!r}: {error}"),
            Text("请使用 --trainer 模块:类", "give --trainer module:Class"),
        ) from None
    if not (isinstance(found, type) and issubclass(found, BaseTrainer)):
        raise Refusal(
            Text(f"{name} 不是 fermi_train.BaseTrainer 的子类", f"{name} is no subclass of fermi_train.BaseTrainer"),
            Text("请继承 BaseTrainer", "extend BaseTrainer"),
        )
    return found


def _flags(prog: str) -> Arguments:
    about = Text("按 training.yaml 训练模型。", "Train a model from training.yaml.")
    parser = Arguments(about, prog=prog)
    parser.add_argument("--config", metavar="FILE", help=str(Text("training.yaml", "the training.yaml")))
    algorithms = Text("算法：sft、rm、dpo、grpo、ppo", "the algorithm: sft, rm, dpo, grpo or ppo")
    parser.add_argument("--algorithm", metavar="NAME", help=str(algorithms))
    over = Text("覆盖文件中的一个键，可重复", "put a value over the file's (repeatable)")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help=str(over))
    parser.add_argument("--trainer", metavar="MODULE:CLASS", help=str(Text("自己的训练器", "a trainer of one's own")))
    results = Text("结果所在的文件夹，优先于文件中的", "where results go; wins over the file's")
    parser.add_argument("--output-dir", metavar="FOLDER", type=Path, help=str(results))
    # What torch.distributed.launch and deepspeed add behind the script.
    parser.add_argument("--local_rank", "--local-rank", help=argparse.SUPPRESS)
    return parser
