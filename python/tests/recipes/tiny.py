"""Data and settings made on the spot: nothing is downloaded."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import yaml

from fermi_train import environment

environment.prepare_imports()

LETTERS = "abcdefgh"


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Writes JSONL."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def word(dice: random.Random, least: int, most: int, letters: str = LETTERS) -> str:
    """Draws letters."""
    return "".join(dice.choice(letters) for _ in range(dice.randint(least, most)))


def answers(count: int, seed: int = 0, least: int = 4, most: int = 16) -> list[dict[str, Any]]:
    """Draws prompts with answers of unequal lengths."""
    dice = random.Random(seed)
    return [{"prompt": f"{index:03d}:", "completion": word(dice, least, most)} for index in range(count)]


def preferences(count: int, seed: int = 0, shuffled: bool = False) -> list[dict[str, Any]]:
    """Draws pairs in which the answer with more letters a is chosen; shuffled, a coin decides."""
    dice = random.Random(seed)
    rows = []
    for _ in range(count):
        more, fewer = list("a" * dice.randint(6, 8)), list("a" * dice.randint(0, 2))
        more += list(word(dice, 8 - len(more), 8 - len(more), "bcd")) if len(more) < 8 else []
        fewer += list(word(dice, 8 - len(fewer), 8 - len(fewer), "bcd"))
        dice.shuffle(more)
        dice.shuffle(fewer)
        pair = ["".join(more), "".join(fewer)]
        if shuffled and dice.random() < 0.5:
            pair.reverse()
        rows.append({"prompt": word(dice, 2, 4) + ":", "chosen": pair[0], "rejected": pair[1]})
    return rows


def shuffled_share(completions: list[str], **_: Any) -> list[float]:
    """A reward that is another answer's share of the letter a: its mean is the true one, and nothing can be learned."""
    shares = [answer.count("a") / max(len(answer), 1) for answer in completions]
    return random.sample(shares, len(shares))


def settings(folder: Path, data: Path, **more: Any) -> Path:
    """Writes a training.yaml; a key such as `training__seed` stands for `training.seed`."""
    made: dict[str, Any] = {
        "model": {"name_or_path": "preset:tiny", "max_length": 64},
        "data": {"train": str(data), "cache": str(folder / "prepared")},
        "training": {
            "distributed_strategy": "ddp",
            "per_device_train_batch_size": 2,
            "gradient_accumulation_steps": 2,
            "learning_rate": 3e-3,
            "lr_scheduler_type": "constant",
            "max_steps": 6,
            "save_strategy": "no",
            "seed": 7,
            "output_dir": str(folder / "out"),
        },
    }
    for path, value in more.items():
        *sections, name = path.split("__")
        section = made
        for part in sections:
            section = section.setdefault(part, {})
        if value is None:
            section.pop(name, None)
        else:
            section[name] = value
    file = folder / "training.yaml"
    file.write_text(yaml.safe_dump(made, allow_unicode=True), encoding="utf-8")
    return file


def lines(path: Path) -> list[dict[str, Any]]:
    """Reads a progress file; lines without a loss are told apart by their phase."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def losses(path: Path) -> dict[int, float]:
    """Gives the loss of every step in a progress file."""
    return {line["step"]: line["loss"] for line in lines(path) if "loss" in line}
