"""How fast `fermi_train prepare` is, beside batched `datasets.map` and beside the tokenizer alone.

    python benches/prepare.py [--rows 1000000] [--turns 3]

All three take the same rows with the same tokenizer, trained here on the rows themselves; nothing is downloaded. They take
turns, and medians are compared; processor time stands beside the clock's, which other work on the machine disturbs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))


def main() -> None:
    """Measures each in a process of its own, and prints a table and JSON."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--turns", type=int, default=3)
    arguments.add_argument("--only", choices=("make", "raw", "map", "prepare"))
    arguments.add_argument("--folder", type=Path)
    flags = arguments.parse_args()
    if flags.only:
        print(json.dumps(ONE[flags.only](flags.folder, flags.rows)))
        return
    with tempfile.TemporaryDirectory() as folder:
        _apart("make", Path(folder), flags.rows)
        turns = [
            {name: _apart(name, Path(folder), flags.rows) for name in ("raw", "map", "prepare")}
            for _ in range(flags.turns)
        ]
    medians = {
        name: {what: statistics.median(turn[name][what] for turn in turns) for what in ("seconds", "cpu", "memory")}
        for name in ("raw", "map", "prepare")
    }
    for what, unit in (("seconds", "by the clock"), ("cpu", "of processor time")):
        print(f"rows per second {unit}")
        for name, found in medians.items():
            rate, than_map, of_raw = (flags.rows, medians["map"][what], medians["raw"][what])
            print(
                f"  {name:8} {rate / found[what]:12,.0f} {than_map / found[what]:6.2f} x map "
                f"{of_raw / found[what]:7.1%} of raw {found['memory'] / 1e6:8,.0f} MB"
            )
    print(json.dumps({"rows": flags.rows, "median": medians, "turns": turns}))


def _apart(name: str, folder: Path, rows: int) -> dict[str, float]:
    parallel = "false" if name == "prepare" else "true"
    words = [sys.executable, __file__, "--only", name, "--folder", str(folder), "--rows", str(rows)]
    done = subprocess.run(
        words, env={**os.environ, "TOKENIZERS_PARALLELISM": parallel}, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def _make(folder: Path, rows: int) -> dict[str, float]:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    dice = random.Random(0)
    words = ["".join(dice.choice("etaoinshrdlu") for _ in range(dice.randint(2, 9))) for _ in range(5000)]
    with (folder / "rows.jsonl").open("w") as file:
        for _ in range(rows):
            asked = " ".join(dice.choices(words, k=dice.randint(5, 30)))
            told = " ".join(dice.choices(words, k=dice.randint(10, 80)))
            file.write(json.dumps({"prompt": asked, "completion": told}) + "\n")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=4000, special_tokens=["<pad>", "<eos>"], show_progress=False)
    tokenizer.train_from_iterator((" ".join(dice.choices(words, k=50)) for _ in range(2000)), trainer)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>").save_pretrained(
        folder / "tokenizer"
    )
    return {}


def _tokenizer(folder: Path):  # noqa: ANN202
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder / "tokenizer")


def _raw(folder: Path, rows: int) -> dict[str, float]:
    backend = _tokenizer(folder).backend_tokenizer
    seconds = cpu = 0.0
    with (folder / "rows.jsonl").open() as file:
        while lines := [line for _, line in zip(range(1000), file, strict=False)]:
            texts = [text for row in map(json.loads, lines) for text in (row["prompt"], row["completion"] + "<eos>")]
            began, before = time.monotonic(), time.process_time()
            backend.encode_batch_fast(texts, add_special_tokens=False)
            seconds, cpu = seconds + time.monotonic() - began, cpu + time.process_time() - before
    return {"seconds": seconds, "cpu": cpu, "memory": _memory()}


def _map(folder: Path, rows: int) -> dict[str, float]:
    from datasets import load_dataset

    tokenizer = _tokenizer(folder)

    def encode(batch):  # noqa: ANN001, ANN202
        asked = tokenizer(batch["prompt"], add_special_tokens=False)["input_ids"]
        told = tokenizer([text + "<eos>" for text in batch["completion"]], add_special_tokens=False)["input_ids"]
        ids = [one + other for one, other in zip(asked, told, strict=True)]
        mask = [[0] * len(one) + [1] * len(other) for one, other in zip(asked, told, strict=True)]
        return {"input_ids": ids, "completion_mask": mask}

    shutil.rmtree(folder / "cache", ignore_errors=True)
    began, before = time.monotonic(), _cpu()
    data = load_dataset("json", data_files=str(folder / "rows.jsonl"), cache_dir=str(folder / "cache"), split="train")
    data.map(encode, batched=True, remove_columns=data.column_names)
    return {"seconds": time.monotonic() - began, "cpu": _cpu() - before, "memory": _memory()}


def _prepare(folder: Path, rows: int) -> dict[str, float]:
    # As `datasets` has imported it before its clock starts.
    import pyarrow  # noqa: F401

    from fermi_train.data.prepare import prepare
    from fermi_train.data.request import request_of

    tokenizer = _tokenizer(folder)
    shutil.rmtree(folder / "prepared", ignore_errors=True)
    began, before = time.monotonic(), _cpu()
    prepare(request_of((str(folder / "rows.jsonl"),), "sft", None, 1024), tokenizer, folder / "prepared")
    return {"seconds": time.monotonic() - began, "cpu": _cpu() - before, "memory": _memory(os.cpu_count() or 1)}


def _memory(processes: int = 1) -> int:
    """Counts the largest child as often as there are: pages that they share are counted too often."""
    own, below = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return (own + processes * below) * 1024


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


ONE = {"make": _make, "raw": _raw, "map": _map, "prepare": _prepare}

if __name__ == "__main__":
    main()
