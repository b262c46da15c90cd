"""What `recipes.sh` says it does.

usage: recipes.py FERMI PYTHON [--cpu]
"""

import importlib.util
import json
import lzma
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = HERE.parents[1] / "python"
BEGAN = time.monotonic()
# After so many seconds no check is begun, and none takes longer than the other number.
LAST, LONGEST = float(os.environ.get("SECONDS_LEFT", "400")), 150
# By then everything has ended.
WHOLE = LAST + 150
AT_ONCE = 4
# Under which name a distribution is imported, where it is another one.
IMPORTED = {"pyyaml": "yaml", "py_cpuinfo": "cpuinfo", "nvidia_ml_py": "pynvml"}


class Failed(Exception):
    """A check that does not hold."""


class Bench:
    """The machine, the binary, and the folder in which everything lies."""

    def __init__(self, fermi, python, on_cpu):
        self.folder = Path(tempfile.mkdtemp(prefix="recipes-"))
        self.fermi, self.python, self.on_cpu = self._binary(fermi), python, on_cpu
        self.results, self.peaks, self.losses = [], {}, {}
        site = self.folder / "site"
        unpack(Path(os.environ.get("WHEELS") or "/nonexistent"), site)
        path = [str(PACKAGES), str(HERE), str(site), os.environ.get("PYTHONPATH", "")]
        commands = sorted(str(folder) for folder in site.glob("*.data/scripts"))
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(part for part in path if part),
            "PATH": os.pathsep.join([*commands, os.environ["PATH"]]),
            "PYTHON_EXEC": python,
            "HF_HUB_OFFLINE": "1",
            "FERMI_LANG": "en",
            "FERMI_STATE_DIR": str(self.folder / "state"),
        }
        if on_cpu:
            self.environment |= {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        self._rows()

    def _binary(self, given):
        if not given.endswith(".xz"):
            return str(Path(shutil.which(given) or given).resolve())
        path = self.folder / "fermi"
        with lzma.open(given) as packed, open(path, "wb") as plain:
            shutil.copyfileobj(packed, plain)
        path.chmod(0o755)
        return str(path)

    def _rows(self):
        dice = random.Random(1)
        with open(self.folder / "rows.jsonl", "w") as file:
            for _ in range(1024):
                text = "".join(dice.choices("abcdefghijklmnopqrstuvwxyz ", k=2000))
                file.write(json.dumps({"text": text}) + "\n")

    def has(self, module):
        """Says whether ranks will find a library."""
        asked = [self.python, "-c", f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)"]
        return subprocess.run(asked, env=self.environment, check=False).returncode == 0


def unpack(wheels, site):
    """Brings what this Python lacks; what it has of its own is left."""
    site.mkdir()
    for file in sorted(wheels.glob("*")):
        name = file.name.split("-")[0].lower()
        if importlib.util.find_spec(IMPORTED.get(name, name)) is not None:
            continue
        if file.suffix == ".whl":
            zipfile.ZipFile(file).extractall(site)
        elif file.name.endswith(".tar.xz"):
            with tarfile.open(file) as packed:
                packed.extractall(site, filter="data")
    for command in site.glob("*.data/scripts/*"):
        command.chmod(0o755)


class Training:
    """One training, in a folder of its own."""

    def __init__(self, bench, name, keys=None, model=None, options=(), launcher="fermi", ranks=1):
        self.bench, self.name = bench, name
        self.folder = bench.folder / name.replace(" ", "-")
        self.folder.mkdir(exist_ok=True)
        self.told, self.progress = self.folder / "told", self.folder / "progress.ndjson"
        small = bench.on_cpu
        settings = {
            "model": {
                "name_or_path": model or ("preset:tiny" if small else "preset:opt-125m"),
                "max_length": 64 if small else 512,
            },
            "data": {"train": str(bench.folder / "rows.jsonl"), "cache": str(bench.folder / "prepared")},
            "training": {
                "distributed_strategy": "ddp",
                "per_device_train_batch_size": 4 if small else 8,
                "gradient_accumulation_steps": 2,
                "max_steps": 15 if small else 20,
                "learning_rate": 3e-3 if small else 3e-4,
                "lr_scheduler_type": "constant",
                "mixed_precision": "bf16",
                "logging_steps": 1,
                "save_strategy": "no",
                "output_dir": str(self.folder / "out"),
            },
        }
        for path, value in (keys or {}).items():
            section = settings
            *above, last = path.split(".")
            for part in above:
                section = section.setdefault(part, {})
            section[last] = value
        # JSON is YAML too.
        self.file = self.folder / "training.yaml"
        self.file.write_text(json.dumps(settings, indent=2))
        words = ["--config", str(self.file), "--algorithm", "sft", "--trainer", "recipes_trainer:Telling"]
        self.torchrun = launcher == "torchrun"
        if self.torchrun:
            line = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), "-m", "fermi_train"]
            self.command = [bench.python, *line, *words]
        else:
            self.command = [bench.fermi, "train", *words, "-n", str(ranks), *options]

    def start(self):
        """Starts it."""
        environment = {**self.bench.environment, "TELLING": str(self.told)}
        if self.torchrun:
            environment["FERMI_PROGRESS_FILE"] = str(self.progress)
        else:
            environment["FERMI_STATE_DIR"] = str(self.folder / "state")
        self.said = open(self.folder / "said", "a+")  # noqa: SIM115
        self.run = subprocess.Popen(
            self.command,
            env=environment,
            cwd=self.folder,
            stdout=self.said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return self

    def whole(self, seconds=LONGEST):
        """Runs it to its end; another code than 0 is a failure."""
        self.start()
        try:
            code = self.run.wait(seconds)
        except subprocess.TimeoutExpired:
            code = f"none within {seconds} s"
        finally:
            self.end()
        self.expect(code == 0, f"exit code {code}")
        return self

    def end(self):
        """Ends what still runs."""
        if self.run.poll() is None:
            os.killpg(self.run.pid, signal.SIGTERM)
            try:
                self.run.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.run.pid, signal.SIGKILL)
                self.run.wait()

    def expect(self, holds, what):
        """Fails with the end of what was said."""
        if not holds:
            tail = "\n".join(self.text().splitlines()[-25:])
            raise Failed(f"{self.name}: {what}\n{tail}")

    def text(self):
        """Gives what it has said."""
        return (self.folder / "said").read_text(errors="replace")

    def lines(self):
        """Gives the lines of steps of rank 0, of all attempts and runs, as they were written."""
        files = sorted(self.folder.glob("state/runs/*/attempt_*/0/progress.ndjson"), key=lambda file: file.stat().st_mtime)
        files = files or ([self.progress] if self.progress.exists() else [])
        # The last line may still be written.
        found = [json.loads(line) for file in files for line in file.read_text().splitlines() if line.endswith("}")]
        return [line for line in found if "loss" in line]

    def checkpoints(self):
        """Lists the steps of whole checkpoints."""
        files = self.folder.glob("out/checkpoints/step-*/complete")
        return [int(file.parent.name[5:]) for file in files if file.parent.name[5:].isdigit()]

    def is_between_checkpoints(self):
        """Says whether it is two steps or more behind its second checkpoint, or a later one."""
        newest = max(self.checkpoints(), default=0)
        return newest >= 10 and max((line["step"] for line in self.lines()), default=0) >= newest + 2

    def words(self, kind):
        """Gives what the trainer has told of a kind."""
        every = self.told.read_text().splitlines() if self.told.exists() else []
        return [line.split()[1:] for line in every if line.startswith(f"{kind} ")]

    def learns(self, least=0.2):
        """Looks whether the loss is a number that falls, and keeps it and the peak of memory."""
        losses = [line["loss"] for line in self.lines()]
        self.expect(losses and all(math.isfinite(loss) for loss in losses), f"losses {losses}")
        self.expect(losses[-1] < losses[0] - least, f"the loss does not fall: {losses[0]:.3f} to {losses[-1]:.3f}")
        memory = [line.get("memoryBytes", 0) for line in self.lines()]
        self.expect(min(memory) > 0, "no memory in the progress file")
        self.bench.losses[self.name] = losses[-1]
        self.bench.peaks[self.name] = peak = max(int(words[1]) for words in self.words("peak"))
        return f"loss {losses[0]:.3f} to {losses[-1]:.3f}, peak {peak / 1e9:.2f} GB, told {max(memory) / 1e9:.2f} GB"


FSDP = {"training.distributed_strategy": "fsdp"}
LORA = {"lora.r": 8, "training.learning_rate": 3e-3}


def zero(stage, **more):
    """Gives the keys of ZeRO; with more, DeepSpeed's own JSON."""
    keys = {"training.distributed_strategy": "deepspeed"}
    return keys | ({"zero": {"stage": stage, **more}} if more else {"training.deepspeed.zero_stage": stage})


CPU = {"device": "cpu", "pin_memory": True}
# The name of each, its keys, and the library that it needs.
PLAIN = [
    ("ddp", {}, None),
    ("fsdp", FSDP, None),
    ("fsdp offload", {**FSDP, "training.fsdp.offload_params": True}, None),
    ("fsdp checkpointing", {**FSDP, "training.gradient_checkpointing": True}, None),
    ("fp16", {"training.mixed_precision": "fp16"}, None),
    ("lora", LORA, "peft"),
    ("fsdp lora", {**FSDP, **LORA}, "peft"),
    ("zero1", zero(1), "deepspeed"),
    ("zero2", zero(2), "deepspeed"),
    ("zero3", zero(3), "deepspeed"),
    ("zero2 offload", zero(2, offload_optimizer=CPU), "deepspeed"),
    ("zero3 offload", zero(3, offload_optimizer=CPU, offload_param=CPU), "deepspeed"),
    ("zero3 lora", {**zero(3), **LORA}, "deepspeed"),
]


def plain(bench, name, keys):
    """Trains, and looks whether it learns."""
    keys = dict(keys)
    if bench.on_cpu and name == "fp16":
        return "left out: fp16 is for GPUs"
    if (section := keys.pop("zero", None)) is not None:
        file = bench.folder / f"{name.replace(' ', '-')}.json"
        file.write_text(json.dumps({"zero_optimization": section}))
        keys["training.deepspeed.config_path"] = str(file)
    # Few parameters beside frozen ones at random learn little.
    return Training(bench, name, keys).whole().learns(0.01 if "lora.r" in keys else 0.2)


def two_ranks(bench):
    """Two ranks on one GPU, by gloo: the second is given the values that the first has read, and the way is that of one."""
    keys = {"training.distributed_backend": "gloo", "training.per_device_train_batch_size": 2 if bench.on_cpu else 4}
    return Training(bench, "two ranks", keys, ranks=2).whole().learns()


def resumed(bench, name, keys):
    """Is killed behind its second checkpoint, and goes on there with the same losses."""
    saves = {**keys, "training.save_strategy": "steps", "training.save_steps": 5, "training.save_total_limit": 2}
    # Slow enough to be met between two checkpoints.
    first = Training(bench, name, {**saves, "training.max_steps": 5000}).start()
    try:
        deadline = time.monotonic() + LONGEST
        while not first.is_between_checkpoints():
            first.expect(first.run.poll() is None, f"ended with {first.run.poll()}")
            first.expect(time.monotonic() < deadline, "no checkpoint")
            time.sleep(0.02)
        os.kill(first.run.pid, signal.SIGKILL)
        first.run.wait()
        while living(first.folder):
            first.expect(time.monotonic() < deadline, f"ranks live on: {living(first.folder)}")
            time.sleep(0.1)
    finally:
        first.end()
    reached, before = max(first.checkpoints()), {line["step"]: line["loss"] for line in first.lines()}
    more = {**saves, "training.max_steps": reached + 5, "training.resume_from_checkpoint": "latest"}
    count = len(first.lines())
    second = Training(bench, name, more).whole()
    after = {line["step"]: line["loss"] for line in second.lines()[count:]}
    second.expect(min(after) == reached + 1, f"went on at {min(after)} behind checkpoint {reached}")
    both = [step for step in after if step in before]
    for step in both:
        near = abs(after[step] - before[step]) < 0.02 * before[step] + 1e-3
        second.expect(near, f"step {step}: {before[step]} before, {after[step]} after")
    return f"killed at step {max(before)}, went on at {reached + 1}, {len(both)} losses are the same"


def living(folder):
    """Lists processes whose variables name a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = str(folder).encode() in (process / "environ").read_bytes()
        except OSError:
            continue
        if is_ours and process.name != str(os.getpid()):
            found.append(process.name)
    return found


def tried(bench, name, keys, launcher):
    """Finds a micro-batch before step 1, beyond which CUDA has no memory left."""
    share = 16 if bench.on_cpu else 256
    keys = {
        **keys,
        "recipe.dynamic_batch": True,
        "training.per_device_train_batch_size": share,
        "training.gradient_accumulation_steps": 1,
        "training.max_steps": 2,
        "model.max_length": 64 if bench.on_cpu else 1024,
    }
    training = Training(bench, name, keys, model=None if bench.on_cpu else "preset:opt-350m", launcher=launcher).whole()
    found = re.search(r"the micro-batch is (\d+)", training.text() + training_log(training))
    training.expect(found is not None, "no word on the micro-batch")
    micro = int(found.group(1))
    steps = [line["step"] for line in training.lines()]
    sizes = [" ".join(words) for words in training.words("tried") + training.words("took")]
    training.expect(1 < micro < share, f"the micro-batch is {micro} of {share}: {sizes}")
    training.expect(steps == [1, 2], f"steps {steps}")
    kept = f"= {micro} x 1 x {share // micro}"
    training.expect(kept in training_log(training) + training.text(), f"the effective batch is not {share} {kept}")
    peak = max(int(words[1]) for words in training.words("peak"))
    bench.losses[name] = micro
    return f"{micro} of {share}, peak {peak / 1e9:.1f} GB; tried {'; '.join(sizes)}"


def training_log(training):
    """Gives the log of the main process."""
    path = training.folder / "out/logs/training.log"
    return path.read_text() if path.exists() else ""


def speed(bench):
    """Tokens per second beside a loop of bare PyTorch and torchrun."""
    more = {"WAYS": "bare loop,torchrun -m fermi_train", "TURNS": "1" if bench.on_cpu else "2", "FERMI": bench.fermi}
    more |= {"TINY": "1"} if bench.on_cpu else {"STEPS": "80"}
    said = bench.folder / "speed"
    left = max(30, WHOLE - (time.monotonic() - BEGAN))
    with open(said, "w") as out:
        run = subprocess.Popen(
            ["sh", str(HERE / "sft.sh")],
            env={**bench.environment, **more},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            run.wait(left)
        except subprocess.TimeoutExpired:
            # It ends its own trainings.
            run.terminate()
            run.wait(60)
    lines = said.read_text().splitlines()
    for line in lines:
        print(f"      {line}", flush=True)
    if run.returncode != 0:
        raise Failed(f"exit code {run.returncode}: {lines[-1] if lines else ''}")
    return "; ".join(line.removeprefix("median").strip() for line in lines if line.startswith("median"))


def less_memory(bench, name, than):
    """Compares peaks of two trainings that have been."""
    if bench.on_cpu:
        return "left out: no GPU's memory to compare"
    if name not in bench.peaks or than not in bench.peaks:
        raise Failed(f"{name} or {than} has not trained")
    one, other = bench.peaks[name] / 1e9, bench.peaks[than] / 1e9
    if one >= other:
        raise Failed(f"{name} takes {one:.2f} GB, {than} {other:.2f}")
    return f"{one:.2f} GB, not {other:.2f}"


def same_ends(bench):
    """Compares the last losses: what divides the model does not change where it goes. A step of fp16 may be left out."""
    whole = {name: loss for name, loss in bench.losses.items() if "lora" not in name and name != "fp16"}
    usual = whole.get("ddp")
    if usual is None:
        raise Failed("ddp has not trained")
    far = {name: round(loss, 3) for name, loss in whole.items() if abs(loss - usual) > 0.1 * usual}
    if far:
        raise Failed(f"ddp ends at {usual:.3f}, but {far}")
    return f"{len(whole)} trainings end at {usual:.3f} ± 10 %"


def same_size(bench):
    """Compares what both ways of searching have found."""
    found = [bench.losses.get(name) for name in ("tried from above", "tried by the planner")]
    if None in found or found[0] != found[1]:
        raise Failed(f"found {found}")
    return f"both {int(found[0])}"


def judge(bench, name, check, *more):
    """Runs a check, prints its line and keeps it."""
    began = time.monotonic()
    if not re.search(os.environ.get("ONLY", ""), name):
        return
    if began - BEGAN > LAST:
        verdict, said = "left out", "no time left"
    else:
        try:
            said = check(bench, *more)
            verdict = "left out" if said.startswith("left out") else "ok"
        except Failed as failure:
            verdict, said = "FAIL", str(failure)
        except Exception as failure:
            verdict, said = "FAIL", f"{type(failure).__name__}: {failure}"
    seconds = round(time.monotonic() - began, 1)
    bench.results.append({"name": name, "verdict": verdict, "said": said, "seconds": seconds})
    first, *rest = said.splitlines() or [""]
    print("\n".join([f"{verdict:9}{name}: {first} ({seconds} s)", *(f"         {line}" for line in rest)]), flush=True)


def main():
    """Checks everything in turn, what is small at once."""
    words = sys.argv[1:]
    on_cpu = "--cpu" in words
    fermi, python = [word for word in words if word != "--cpu"][:2]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bench = Bench(fermi, python, on_cpu)
    try:
        judge(bench, "versions", versions)
        small = []
        for name, keys, needs in PLAIN:
            is_there = needs is None or bench.has(needs)
            small.append((name, plain, name, keys) if is_there else (name, lambda _, what=needs: f"left out: no {what}"))
        small.append(("two ranks on one device", two_ranks))
        small.append(("resume after kill -9, fsdp", resumed, "resume fsdp", FSDP))
        if bench.has("deepspeed"):
            small.append(("resume after kill -9, zero3", resumed, "resume zero3", zero(3)))
        with ThreadPoolExecutor(1 if on_cpu else AT_ONCE) as pool:
            list(pool.map(lambda check: judge(bench, *check), small))
        for name, than in (("fsdp checkpointing", "fsdp"), ("fsdp offload", "fsdp"), ("lora", "ddp")):
            judge(bench, f"less memory: {name}", less_memory, name, than)
        for name in ("zero2", "zero3"):
            if bench.has("deepspeed"):
                judge(bench, f"less memory: {name} offload", less_memory, f"{name} offload", name)
        judge(bench, "one end", same_ends)
        judge(bench, "tokens per second", speed)
        judge(bench, "micro-batch, ddp, from above", tried, "tried from above", {}, "torchrun")
        judge(bench, "micro-batch, ddp, by fermi train", tried, "tried by the planner", {}, "fermi")
        judge(bench, "micro-batch, one size", same_size)
        judge(bench, "micro-batch, fsdp", tried, "tried fsdp", FSDP, "fermi")
    finally:
        out = Path(os.environ.get("OUT") or ".")
        (out / "recipes.json").write_text(json.dumps({"checks": bench.results}, indent=1, ensure_ascii=False))
        shutil.rmtree(bench.folder, ignore_errors=True)
    failed = [result["name"] for result in bench.results if result["verdict"] == "FAIL"]
    held = sum(result["verdict"] == "ok" for result in bench.results)
    print(f"{held} held, {len(failed)} failed {failed or ''}, {time.monotonic() - BEGAN:.0f} s")
    late = any(result["said"] == "no time left" for result in bench.results)
    sys.exit(int(bool(failed) or late))


def versions(bench):
    """Says on what all this runs."""
    asked = (
        "import sys, torch, transformers; from importlib.util import find_spec as f; "
        "print(sys.version.split()[0], 'torch', torch.__version__, 'transformers', transformers.__version__, "
        "torch.cuda.get_device_name(0) if torch.cuda.is_available() else 'CPU', "
        "'lacks', [m for m in ('yaml','pyarrow','tqdm','peft','deepspeed','accelerate','safetensors') if f(m) is None])"
    )
    run = subprocess.run(
        [bench.python, "-c", asked], env=bench.environment, capture_output=True, text=True, timeout=120, check=False
    )
    said = subprocess.run([bench.fermi, "--version"], capture_output=True, text=True, check=False)
    if run.returncode or said.returncode:
        raise Failed(f"{run.stderr[-800:]} {said.stderr[-300:]}")
    return f"{said.stdout.strip()}, Python {run.stdout.strip()}"


if __name__ == "__main__":
    main()
