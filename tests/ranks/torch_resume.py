"""A training that checkpoints by itself and is killed once, hard, in the middle.

usage: torch_resume.py STEPS KILL_RANK:KILL_STEP
Rank 0 saves after every step in FERMI_CHECKPOINT_DIR; with FERMI_RESUME=1 all ranks go on from there. Rank 0 prints
`step N` for each step it takes.
"""

import os
import signal
import sys

import torch
import torch.distributed as dist


def main():
    steps = int(sys.argv[1])
    kill_rank, kill_step = (int(part) for part in sys.argv[2].split(":"))
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    path = os.path.join(os.environ["FERMI_CHECKPOINT_DIR"], "state.pt")
    state = {"step": 0, "value": torch.zeros(4)}
    if os.environ.get("FERMI_RESUME") == "1":
        state = torch.load(path)
    first_attempt = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    while state["step"] < steps:
        step = state["step"] + 1
        if first_attempt and (rank, step) == (kill_rank, kill_step):
            os.kill(os.getpid(), signal.SIGKILL)
        part = torch.full((4,), float(rank + 1))
        dist.all_reduce(part)
        state = {"step": step, "value": state["value"] + part}
        if rank == 0:
            torch.save(state, path + ".new")
            os.replace(path + ".new", path)
            print(f"step {step}", flush=True)
        # Nobody is ahead of the checkpoint.
        dist.barrier()
    print(f"rank {rank} done at step {state['step']} value {state['value'][0].item()}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
