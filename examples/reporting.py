"""What the examples say of their progress: a line per step, shown by `fermi task show` and on the page."""

import json
import os
import time


def report(step: int, total: int, loss: float, aloud: bool = False) -> None:
    """Writes the line where the launcher asks for it, and prints it too where it is to be heard."""
    if aloud:
        print(f"step {step}/{total} loss {loss:.4f}", flush=True)
    if path := os.environ.get("FERMI_PROGRESS_FILE"):
        with open(path, "a") as file:
            file.write(json.dumps({"time": time.time(), "step": step, "totalSteps": total, "loss": loss}) + "\n")
