"""Tokens per second of SFT: the recipe by `fermi train` and by torchrun, beside transformers' Trainer and bare PyTorch.

usage: sft.py FERMI PYTHON [TURNS]
All train the same shape on the same rows, one process each, in turn. Counted is the time between the ends of two steps, so
that imports, preparation and the first steps are not in it. WAYS names some of those beside `fermi train`, between commas;
STEPS is how many each trains. TINY=1 takes a tiny model, and judges no speed.
"""

import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = HERE.parents[1] / "python"
sys.path.insert(0, str(PACKAGES))

from fermi_train.models.bytes_tokenizer import bytes_tokenizer  # noqa: E402
from fermi_train.models.presets import preset  # noqa: E402

IS_TINY = os.environ.get("TINY") == "1"
MODEL, LENGTH, MICRO, STEPS, SKIPPED = ("tiny", 64, 2, 30, 10) if IS_TINY else ("opt-350m", 1024, 16, 120, 20)
STEPS = int(os.environ.get("STEPS", STEPS))
LEAST = 0.97
# Of one run, from its start to its end.
SECONDS = 120
OURS = "fermi train"


def write_inputs(folder):
    """Writes the model's shape with its tokenizer, rows that fill the length, and the training.yaml."""
    preset(MODEL).save_pretrained(folder / "model")
    bytes_tokenizer().save_pretrained(folder / "model")
    dice = random.Random(1)
    with open(folder / "rows.jsonl", "w") as file:
        for _ in range(STEPS * MICRO):
            text = "".join(dice.choices("abcdefghijklmnopqrstuvwxyz ", k=LENGTH + 64))
            file.write(json.dumps({"text": text}) + "\n")
    settings = {
        "model": {"name_or_path": f"config:{folder}/model", "max_length": LENGTH},
        "data": {"train": f"{folder}/rows.jsonl", "cache": f"{folder}/prepared"},
        "training": {
            "per_device_train_batch_size": MICRO,
            "gradient_accumulation_steps": 1,
            "max_steps": STEPS,
            "learning_rate": 5e-5,
            "lr_scheduler_type": "linear",
            "bf16": True,
            "logging_steps": 10,
            "save_strategy": "no",
            "output_dir": f"{folder}/out",
        },
    }
    # JSON is YAML too.
    (folder / "training.yaml").write_text(json.dumps(settings, indent=2))


def commands(fermi, python, folder):
    """Gives the four ways to train, each with the pattern of the file that its steps are told in."""
    torchrun = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1"]
    recipe = ["--config", f"{folder}/training.yaml", "--algorithm", "sft"]
    words = [f"{folder}/model", f"{folder}/rows.jsonl", f"{folder}/told.ndjson", LENGTH, MICRO, STEPS, SKIPPED]
    plain = [str(HERE / "sft_plain.py"), *map(str, words)]
    loop = [python, str(HERE / "sft_loop.py"), *map(str, words)]
    every = {
        OURS: ([fermi, "train", *recipe, "-n", "1"], "state/runs/*/attempt_0/0/progress.ndjson"),
        "plain python": ([python, *plain], "told.ndjson"),
        "plain torchrun": ([*torchrun, *plain], "told.ndjson"),
        "torchrun -m fermi_train": ([*torchrun, "-m", "fermi_train", *recipe], "told.ndjson"),
        "bare loop": (loop, "told.ndjson"),
    }
    chosen = os.environ.get("WAYS", ",".join(every)).split(",")
    return {name: way for name, way in every.items() if name == OURS or name in chosen}


def train(command, told, folder, python):
    """Trains once; gives tokens per second and the last loss."""
    for left in ("state", "out"):
        shutil.rmtree(folder / left, ignore_errors=True)
    (folder / "told.ndjson").unlink(missing_ok=True)
    given = {"PYTHON_EXEC": python, "FERMI_STATE_DIR": f"{folder}/state", "HF_HUB_OFFLINE": "1", "FERMI_LANG": "en"}
    path = f"{PACKAGES}{os.pathsep}{os.environ.get('PYTHONPATH', '')}".rstrip(os.pathsep)
    environment = {**os.environ, **given, "PYTHONPATH": path}
    if told == "told.ndjson":
        environment["FERMI_PROGRESS_FILE"] = f"{folder}/told.ndjson"
    with open(folder / "said", "w+") as said:
        # A group of its own: what a launcher has started ends with it.
        run = subprocess.Popen(
            command, env=environment, cwd=folder, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = run.wait(SECONDS)
        except subprocess.TimeoutExpired:
            code = f"none within {SECONDS} s"
        finally:
            end(run)
        said.seek(0)
        if code != 0:
            sys.exit(f"{' '.join(command)}\n{said.read()[-6000:]}\nexit code {code}")
    lines = [json.loads(line) for file in folder.glob(told) for line in file.read_text().splitlines()]
    ends = {line["step"]: line["time"] for line in lines if "phase" not in line}
    losses = [line["loss"] for line in lines if "loss" in line]
    check_tokens(lines)
    return MICRO * LENGTH * (STEPS - SKIPPED) / (ends[STEPS] - ends[SKIPPED]), losses[-1]


def end(run):
    """Ends what still runs: a launcher that is told to ends its ranks, one that is killed might leave them on the GPU."""
    if run.poll() is None:
        os.killpg(run.pid, signal.SIGTERM)
        try:
            run.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()


def check_tokens(lines):
    """Refuses a comparison of steps that are not as long as each other."""
    for line in lines:
        if "tokensPerS" in line:
            tokens = line["tokensPerS"] * line["stepTimeS"]
            assert abs(tokens - MICRO * LENGTH) < 0.5, f"a step has {tokens} tokens, not {MICRO * LENGTH}"


def main():
    """Measures the four in turn."""
    fermi, python = sys.argv[1:3]
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    tell_versions()
    folder = Path(tempfile.mkdtemp(prefix="sft-"))
    try:
        write_inputs(folder)
        ways = commands(fermi, python, folder)
        measured = {name: [] for name in ways}
        for turn in range(turns):
            # Each is the first once.
            for name in [*ways][turn % len(ways) :] + [*ways][: turn % len(ways)]:
                tokens, loss = train(*ways[name], folder, python)
                measured[name].append(tokens)
                print(f"turn {turn + 1}  {name:24} {tokens:12.0f} tokens/s   last loss {loss:.3f}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(verdict(measured))


def tell_versions():
    """Says what is compared on what."""
    import torch
    import transformers

    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU"
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, {device}")
    print(f"{MODEL}, bf16, {MICRO} x {LENGTH} tokens a step, steps {SKIPPED + 1} to {STEPS}", flush=True)


def verdict(measured):
    """Prints the medians; gives 0 when ours is within 3 % of each."""
    middle = {name: statistics.median(all_of_it) for name, all_of_it in measured.items()}
    ours = middle.pop(OURS)
    print(f"median  {OURS:24} {ours:12.0f} tokens/s")
    is_slower = False
    for name, tokens in middle.items():
        is_slower |= ours < LEAST * tokens
        print(f"median  {name:24} {tokens:12.0f} tokens/s   {OURS} / {name}: {ours / tokens:.3f}")
    if IS_TINY:
        print("all have trained; a tiny model on a CPU measures nothing")
        return 0
    print(f"{OURS} is {'NOT ' if is_slower else ''}within 3 % of each of them")
    return int(is_slower)


if __name__ == "__main__":
    main()
