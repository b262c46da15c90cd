"""The hook of `fermi run` in real trainings: every optimizer step is seen, and no script is changed."""

import json
import os
import struct
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest

HOOK = Path(__file__).parent.parent / "fermi_hook"
WORDS = ["magic", "version", "pid", "phase", "ticks", "steps", "enqueued", "completed", "first_step", "last_step",
         "phase_since", "modules", "start", "imports", "trouble", "left_out", "saving", "saved_at", "armed", "pending",
         "asked", "place", "ending", "life", "device", "groups", "waiting"]
LOAD, STEP = 3, 4
SIZE = 1 << 20

COMMON = """
    import os, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    model = torch.nn.Linear(8, 8)
    def train(model, optimizer, steps=4):
        for _ in range(steps):
            optimizer.zero_grad()
            model(torch.ones(2, 8)).pow(2).mean().backward()
            optimizer.step()
"""
SCRIPTS = {
    "plain": "train(model, torch.optim.SGD(model.parameters(), lr=0.1))",
    "ddp": """
    from torch.nn.parallel import DistributedDataParallel
    model = DistributedDataParallel(model)
    train(model, torch.optim.AdamW(model.parameters()))
    """,
    "fsdp": """
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.device_mesh import init_device_mesh
    fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
    train(model, torch.optim.AdamW(model.parameters()))
    """,
    "accelerate": """
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    train(model, optimizer)
    """,
    "transformers": """
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
    model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=16, n_positions=8))
    rows = [{"input_ids": [1, 2, 3], "labels": [1, 2, 3]}] * 8
    arguments = TrainingArguments("out", max_steps=4, per_device_train_batch_size=2, use_cpu=True, report_to=[],
                                  save_strategy="no", disable_tqdm=True)
    Trainer(model, arguments, train_dataset=rows).train()
    """,
    "deepspeed": """
    import deepspeed
    config = {"train_micro_batch_size_per_gpu": 1, "optimizer": {"type": "AdamW", "params": {"torch_adam": True}},
              "zero_optimization": {"stage": 1}}
    engine, *_ = deepspeed.initialize(model=model, config=config)
    for _ in range(4):
        engine.backward(engine(torch.ones(2, 8)).pow(2).mean())
        engine.step()
    """,
}


def run(script, folder, words=("-u",)):
    """Runs a script as the supervisor starts a rank; what its page says at the end."""
    page = os.memfd_create("fermi-pulse")
    os.ftruncate(page, SIZE)
    path = folder / "script.py"
    path.write_text(script)
    environ = dict(os.environ, RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="0",
                   OMP_NUM_THREADS="1", PYTHONPATH=str(HOOK), FERMI_HOOK=f"{os.getpid()} {page} -")
    # DeepSpeed's op is compiled with the environment, and ninja is beside its Python.
    environ.setdefault("TORCH_EXTENSIONS_DIR", os.path.join(sys.prefix, "torch_extensions"))
    environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), environ.get("PATH", "")])
    done = subprocess.run([sys.executable, *words, str(path)], env=environ, cwd=folder, capture_output=True, text=True)
    pulse = dict(zip(WORDS, struct.unpack("27Q", os.pread(page, 27 * 8, 0)), strict=True))
    trouble = os.pread(page, pulse["trouble"], 512).decode()
    pulse["groups"] = json.loads(os.pread(page, pulse["groups"], SIZE - 16384) or "[]")
    os.close(page)
    return done, pulse, trouble


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_step_is_seen(name, tmp_path):
    if name in ("accelerate", "transformers", "deepspeed"):
        pytest.importorskip(name)
    # What was imported is told at the next tick.
    script = textwrap.dedent(COMMON) + textwrap.dedent(SCRIPTS[name]) + "\nimport time\ntime.sleep(1.2)\n"
    done, pulse, trouble = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (pulse["steps"], trouble) == (4, "")
    assert pulse["first_step"] <= pulse["last_step"] and pulse["imports"] > 1000


def test_how_far_a_rank_is_in_each_of_its_groups_is_told(tmp_path):
    script = """
    import time, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    own, unused = dist.new_group([0], group_desc="of_one"), dist.new_group([0])
    for _ in range(3):
        dist.all_reduce(torch.ones(1), group=own)
    dist.all_reduce(torch.ones(1))
    time.sleep(1.2)
    """
    _, pulse, trouble = run(textwrap.dedent(script), tmp_path)
    told = {group["name"]: (group["begun"], group["ended"], group["ranks"], group["isDefault"]) for group in pulse["groups"]}
    assert (told, trouble) == ({"0": (1, 1, [0], True), "of_one": (3, 3, [0], False), "2": (0, 0, [0], False)}, "")


@pytest.mark.parametrize(("pause", "phase"), [(0.1, STEP), (None, LOAD)])
def test_collectives_that_go_on_are_steps_also_without_an_optimizer_of_torch(pause, phase, tmp_path):
    script = f"""
    import time, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    weights, pause = torch.ones(4), {pause}
    for _ in range(70):
        gradient = torch.ones(4)
        dist.all_reduce(gradient)
        weights -= 0.1 * gradient
        time.sleep(pause or 0)
    time.sleep(0 if pause else 2)
    """
    _, pulse, trouble = run(textwrap.dedent(script), tmp_path)
    assert (pulse["phase"], pulse["steps"], trouble) == (phase, 0, "")
    # What was imported is told then, so that a restart may be warm.
    assert (pulse["imports"] > 0) == (phase == STEP)


@pytest.mark.parametrize("how", ["dcp", "dcp_async", "deepspeed"])
def test_saves_of_others_than_torch_are_timed(how, tmp_path):
    if how == "deepspeed":
        pytest.importorskip("deepspeed")
    scripts = {
        "dcp": "from torch.distributed.checkpoint import save\nsave({'a': torch.ones(4)}, checkpoint_id='kept')",
        "dcp_async": "import torch.distributed.checkpoint as dcp\n"
                     "dcp.async_save({'a': torch.ones(4)}, checkpoint_id='kept').result()",
        "deepspeed": SCRIPTS["deepspeed"] + "\n    engine.save_checkpoint('kept')",
    }
    done, pulse, trouble = run(textwrap.dedent(COMMON) + textwrap.dedent(scripts[how]), tmp_path)
    assert (done.returncode, trouble) == (0, ""), done.stderr
    assert pulse["saving"] > 100_000


def test_what_goes_wrong_in_the_hook_is_noted_and_the_script_goes_on(tmp_path):
    script = """
    import torch
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    import json
    json.dumps = None
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    optimizer.step()
    print("trained")
    """
    done, pulse, trouble = run(textwrap.dedent(script), tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("trained\n", "", 0)
    assert (pulse["steps"], trouble) == (2, "TypeError: 'NoneType' object is not callable")


@pytest.mark.parametrize("words", [("-u", "-I"), ("-u", "-S"), ("-E",)])
def test_an_interpreter_that_takes_no_hook_runs_the_script_without(words, tmp_path):
    done, pulse, _ = run("print('trained')", tmp_path, words)
    assert (done.stdout, pulse["magic"]) == ("trained\n", 0)


@pytest.mark.parametrize(("changed", "is_left_to_the_script"), [
    ({}, False),
    # Set by torch itself when a device is first used.
    ({"CUDA_MODULE_LOADING": "LAZY", "TORCHINDUCTOR_CACHE_DIR": "/somewhere"}, False),
    ({"CUDA_MODULE_LOADING": "LAZY", "NCCL_ALGO": "Ring"}, True),
    ({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, True),
])
def test_only_what_the_script_sets_steers_its_device(changed, is_left_to_the_script, monkeypatch):
    monkeypatch.syspath_prepend(str(HOOK))
    import fermi_watch
    import torch  # noqa: F401

    watch = object.__new__(fermi_watch.Watch)
    watch.hook = SimpleNamespace(environ_change=lambda _: changed)
    assert watch.device()["device"] is not is_left_to_the_script
