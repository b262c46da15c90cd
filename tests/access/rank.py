"""What a rank of another account tries with the agent that has started it, its keepers, and the tasks of others.

Told by a file: the paths and processes that there are, and what must not be found. Prints what it has got, and who it is.
"""

import json
import os
import sys

TARGET = json.load(open(sys.argv[1]))
NEEDLES = {name: word.encode() for name, word in TARGET["needles"].items()}
GOT = []


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return b""


def look(path, got):
    for name, word in NEEDLES.items():
        if word in got:
            GOT.append(f"{name} in {path}")


for path in TARGET["paths"]:
    look(path, read(path))
    if os.path.isdir(path):
        try:
            os.listdir(path)
            GOT.append(f"listed {path}")
        except OSError:
            pass
        try:
            open(os.path.join(path, "of-ann"), "w").close()
            os.unlink(os.path.join(path, "of-ann"))
            GOT.append(f"wrote to {path}")
        except OSError:
            pass
    elif os.access(path, os.R_OK) or os.access(path, os.W_OK):
        GOT.append(f"may open {path}")

own = os.getpid()
above = [os.getppid(), int(read(f"/proc/{os.getppid()}/stat").rsplit(b")", 1)[1].split()[1])]
for pid in [*TARGET["pids"], *above]:
    if pid == own:
        continue
    for name in ["environ", "mem", "maps", "auxv"]:
        look(f"/proc/{pid}/{name}", read(f"/proc/{pid}/{name}"))
    try:
        os.listdir(f"/proc/{pid}/fd")
        GOT.append(f"listed descriptors of {pid}")
    except OSError:
        pass
    try:
        os.kill(pid, 0)
        GOT.append(f"may signal {pid}")
    except OSError:
        pass

# Who it is, and whether there is a way back.
root = "refused"
if os.getuid() != 0:
    for climb in [lambda: os.setuid(0), lambda: os.seteuid(0), lambda: os.setresgid(0, 0, 0), lambda: os.setgroups([0])]:
        try:
            climb()
            root = "granted"
        except OSError:
            pass

# What it must write.
for folder, name in [("FERMI_OUTPUT_DIR", "of-ann.txt"), ("FERMI_CHECKPOINT_DIR", "step-1.pt")]:
    with open(os.path.join(os.environ[folder], name), "w") as file:
        file.write("x")
with open(os.environ["FERMI_PROGRESS_FILE"], "a") as file:
    file.write('{"time": 1794720166.0, "step": 1, "loss": 2.5}\n')
with open("/dev/stdout", "a") as file:
    file.write("through /dev/stdout\n")

descriptors = sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}"))
print(
    json.dumps(
        {
            "got": GOT,
            "uid": os.getresuid(),
            "gid": os.getresgid(),
            "groups": os.getgroups(),
            "variables": [os.environ.get(name) for name in ["HOME", "USER", "LOGNAME", "SHELL"]],
            "root": root,
            "descriptors": descriptors,
        }
    ),
    flush=True,
)
