"""A training that survives a crash: it saves checkpoints and continues from the newest one. Needs nothing but Python.

    fermi run --nproc-per-node 2 --max-restarts 1 examples/resume.py --steps 50 --crash-at 30
    torchrun --nproc-per-node 2 --max-restarts 1 examples/resume.py --steps 50 --crash-at 30

What a launcher gives to such a script:
  FERMI_CHECKPOINT_DIR  where checkpoints live, the same folder in every attempt (else ./checkpoints)
  FERMI_RESUME          "1" when this attempt shall continue (torchrun: TORCHELASTIC_RESTART_COUNT above 0)
  FERMI_RESUME_STEP     the step that every rank goes on from, where it is known; else the newest is meant
  FERMI_CHECKPOINT_SHARED  "0" where every node has a folder of its own, so that one rank of each must save
  FERMI_PROGRESS_FILE   one JSON object per line and step, if the script wants to tell how far it is
"""

import argparse
import json
import os
import time
from pathlib import Path

RANK = int(os.environ.get("RANK", "0"))
CHECKPOINTS = Path(os.environ.get("FERMI_CHECKPOINT_DIR", "checkpoints"))
RESTARTS = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
RESUME = os.environ.get("FERMI_RESUME", "1" if RESTARTS else "0") == "1"
LOCALE = next((os.environ[n] for n in ("FERMI_LANG", "LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(n)), "")
HAS_OWN_FOLDER = os.environ.get("FERMI_CHECKPOINT_SHARED") == "0" and os.environ.get("LOCAL_RANK") == "0"


def say(zh: str, en: str) -> str:
    return zh if LOCALE[:2].lower() == "zh" else en


def save(state: dict) -> None:
    """Writes under another name first: a checkpoint is there whole or not at all."""
    CHECKPOINTS.mkdir(parents=True, exist_ok=True)
    draft = CHECKPOINTS / ".draft"
    draft.write_text(json.dumps(state))
    draft.rename(CHECKPOINTS / f"step-{state['step']:06d}.json")


def load() -> dict:
    checkpoint = max(CHECKPOINTS.glob("step-*.json"), default=None)
    if step := os.environ.get("FERMI_RESUME_STEP"):
        checkpoint = CHECKPOINTS / f"step-{int(step):06d}.json"
    if not (RESUME and checkpoint):
        return {"step": 0, "weight": 0.0}
    state = json.loads(checkpoint.read_text())
    step, name = state["step"], checkpoint.name
    print(say(f"rank {RANK} 从第 {step} 步继续（{name}）", f"rank {RANK} resumes at step {step} from {name}"), flush=True)
    return state


def report(step: int, total: int, loss: float) -> None:
    path = os.environ.get("FERMI_PROGRESS_FILE")
    if path:
        with open(path, "a") as file:
            file.write(json.dumps({"time": time.time(), "step": step, "totalSteps": total, "loss": loss}) + "\n")


def main() -> None:
    about = say("检查点与继续训练，只用 Python", "checkpoints and resuming, with nothing but Python")
    arguments = argparse.ArgumentParser(description=about, add_help=False)
    arguments.add_argument("-h", "--help", action="help", help=say("显示这段帮助并退出", "show this help and leave"))
    arguments.add_argument("--steps", type=int, default=50, help=say("训练多少步", "steps to train"))
    arguments.add_argument("--save-every", type=int, default=10, help=say("每多少步保存一个检查点", "steps between checkpoints"))
    arguments.add_argument("--crash-at", type=int, help=say("第一次启动到这一步时失败", "fail at this step in the first attempt"))
    args = arguments.parse_args()

    state = load()
    while state["step"] < args.steps:
        # One step of gradient descent on (weight - 3)², in place of a network.
        loss = (state["weight"] - 3.0) ** 2
        state["weight"] -= 0.1 * (state["weight"] - 3.0)
        state["step"] += 1
        time.sleep(0.02)
        report(state["step"], args.steps, loss)
        if state["step"] % args.save_every == 0 and RANK == 0:
            print(f"step {state['step']:4d}/{args.steps} | loss {loss:.4f}", flush=True)
        if state["step"] % args.save_every == 0 and (RANK == 0 or HAS_OWN_FOLDER):
            save(state)
        if state["step"] == args.crash_at and RANK == 1 and RESTARTS == 0:
            raise RuntimeError("simulated hardware fault")


if __name__ == "__main__":
    main()
