"""The DeepSpeed file of the user's own, which a training.yaml may name."""

from __future__ import annotations

import json
import os
from pathlib import Path

from . import named_file
from .mistakes import Mistake, TrainingYamlError
from .reasons import of_system
from .sentence import Sentence
from .value import Value

_KEY = "training.deepspeed.config_path"


def read_named_by(values: dict[str, Value], yaml: Path) -> dict[str, Value] | None:
    """Reads the file that the values name, if they do; one that cannot be read is a mistake."""
    named = values.get(_KEY)
    if not isinstance(named, str):
        return None
    path = _beside(yaml, named)
    try:
        found = json.loads(named_file.read(path).decode("utf-8"), parse_constant=_no_constant)
    except OSError as error:
        why = of_system(error)
        text = Sentence(f"无法读取 {_KEY} 指定的 {path}：{why.zh}", f"cannot read {path}, which {_KEY} names: {why}")
        hint = Sentence("请检查路径和权限", "look at the path and its permissions")
        raise TrainingYamlError([Mistake(_KEY, text, hint)]) from None
    except ValueError as error:
        raise TrainingYamlError([_no_object(path, str(error))]) from None
    if not isinstance(found, dict):
        raise TrainingYamlError([_no_object(path, "it holds something else")])
    return found


def _beside(yaml: Path, named: str) -> Path:
    """Looks from where the user stands, else from where the training.yaml lies."""
    here, there = Path(named), yaml.parent / named
    return there if not here.exists() and there.exists() else here


def _no_object(path: Path, why: str) -> Mistake:
    text = Sentence(f"{path} 不是一个 JSON 对象：{why}", f"{path} is not one JSON object: {why}")
    return Mistake(_KEY, text, Sentence("检查逗号与引号；JSON 没有注释", "look at commas and quotes; JSON has no comments"))


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")


def of_this_launch() -> dict[str, Value] | None:
    """The DeepSpeed file that Fermi made for this launch, where DeepSpeed trains."""
    path = os.environ.get("FERMI_CONFIG_FILE")
    if not path or os.environ.get("FERMI_FRAMEWORK") != "deepspeed":
        return None
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    return found if isinstance(found, dict) else None
