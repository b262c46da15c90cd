"""Makes a data folder of the corpus: what a release leaves on the disk when its machines lose their power.

    sudo python3 tests/corpus/make.py target/release/fermi tests/corpus/0.2.0.tar.xz

A server, two agents and a `fermi run` work in namespaces of their own, on a machine that has no name and a boot of its own,
so that the folder is at home wherever it is opened later. Then everything is killed at once. Beside the folders stands
`expected.json`: what the server had acknowledged until then. What the release does not have yet is left out of both.
"""

import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path("/srv")
ADDRESS = "127.0.0.1:7070"
BOOT = "11111111-1111-4111-8111-111111111111"
PATIENCE_S = 30
# A file that only keeps room on the disk, what is carried along from the binary, and locks of the dead.
LEFT_OUT = {"ballast", "hook", "fermi.lock", "agent.lock", "fermi.db-shm"}

SUCCEEDS = "echo hello of rank $RANK"
FAILS = 'echo "ValueError: the loss is nan" >&2; exit 3'
# The first launch trains until the power goes, a later one finishes.
GOES_ON = 'echo begun in generation $FERMI_GENERATION; [ "$FERMI_GENERATION" = 1 ] && sleep 600; echo done'
WAITS = "echo waited and ran"


def main(binary: str, archive: str) -> None:
    if os.environ.get("FERMI_CORPUS") != "inside":
        inside = f"""
            set -e
            mount -t tmpfs none {ROOT}
            mkdir {ROOT}/of-the-machine
            echo {BOOT} > {ROOT}/of-the-machine/boot
            : > {ROOT}/of-the-machine/machine
            mount --bind {ROOT}/of-the-machine/boot /proc/sys/kernel/random/boot_id
            if [ -e /etc/machine-id ]; then mount --bind {ROOT}/of-the-machine/machine /etc/machine-id; fi
            ip link set lo up
            exec "$@"
        """
        words = ["unshare", "--mount", "--pid", "--net", "--fork", "--mount-proc", "sh", "-c", inside, "-"]
        words += [sys.executable, os.path.abspath(__file__), os.path.abspath(binary), os.path.abspath(archive)]
        sys.exit(subprocess.run(words, env={**os.environ, "FERMI_CORPUS": "inside"}, check=False).returncode)
    (ROOT / "home").mkdir()
    shutil.copy(binary, ROOT / "fermi")
    expected = live()
    # Every process of this namespace but this one.
    os.kill(-1, signal.SIGKILL)
    pack(pathlib.Path(archive), expected)


def live() -> dict:
    """A few seconds in the life of a cluster."""
    start("server", "server", "--listen", ADDRESS, "--data-dir", ROOT / "server")
    wait("the server", lambda: asked("GET", "/overview"))
    for name in ("gn6", "gn7"):
        start(f"agent-{name}", "agent", "--server", f"http://{ADDRESS}", "--name", name, "--zone", "zone-a",
              "--token-file", ROOT / "server/token", "--data-dir", ROOT / f"agent-{name}")
    wait("both environments", lambda: len([e for e in items("/environments") if e["status"] == "running"]) == 2)
    environments = {e["name"]: e["id"] for e in items("/environments")}

    dataset = asked("POST", "/datasets", {"name": "corpus"})
    if dataset:
        asked("POST", f"/datasets/{dataset['id']}/versions", {"version": "v1", "path": "/data/corpus"})
    asked("POST", "/models", {"name": "bert", "path": "/models/bert"})
    asked("POST", "/users", {"name": "ann", "role": "member", "password": "correct horse battery"})
    asked("POST", "/tokens", {"name": "nightly"})
    asked("POST", "/secrets", {"name": "HF_TOKEN", "value": "hf_not_a_real_one", "shared": True})
    asked("POST", "/webhooks", {"name": "team-chat", "url": "http://127.0.0.1:9/hook"})
    asked("POST", "/groups", {"name": "llm", "workers": ["gn6-0", "gn7-0"]})

    ended(create("succeeds", environments["gn6"], SUCCEEDS), "succeeded")
    ended(create("fails", environments["gn6"], FAILS), "failed")
    running = create("goes on", environments["gn7"], GOES_ON)
    wait("it to have begun", lambda: "begun in generation 1" in log(running))
    ended(running, "running")
    waiting = create("waits", environments["gn7"], WAITS)
    ended(waiting, "queued")
    fermi_run()

    def names(path: str, key: str = "name") -> list[str]:
        return sorted(str(item[key]) for item in items(path))

    return {
        "fermi": output("--version").strip(),
        "tasks": {task["id"]: {"name": task["name"], "status": task["status"]} for task in map(shown, [1, 2, 3, 4])},
        "logs": {f"task-{number}": log(f"task-{number}") for number in (1, 3)},
        "events": len(items("/events?pageSize=1000")),
        "environments": names("/environments"),
        **{noun: names(f"/{noun}") for noun in ("datasets", "models", "users", "tokens", "secrets", "webhooks", "groups")},
    }


def fermi_run() -> None:
    """A run that has failed, and one that is cut off with everything else."""
    subprocess.run([ROOT / "fermi", "run", "--no-python", "sh", "-c", FAILS], env=environment(), cwd=ROOT / "home",
                   stdin=subprocess.DEVNULL, capture_output=True, check=False)
    start("run", "run", "--nproc-per-node", "2", "--no-python", "sh", "-c", "echo begun; sleep 600")
    logs = ROOT / "state/runs"
    wait("both ranks of the run", lambda: len([p for p in logs.rglob("*") if p.is_file() and b"begun" in p.read_bytes()]) >= 2)


def create(name: str, node: str, script: str) -> str:
    made = asked("POST", "/training-tasks", {
        "taskName": name, "command": {"argv": ["/bin/sh", "-c", script]},
        "policies": {"restart": {"maxRestarts": 1 if script == GOES_ON else 0}},
        "distributedConfig": {"enabled": False, "nodeIds": [node], "masterNode": node, "framework": "command"},
    })
    assert made, f"{name} could not be created"
    return made["taskId"]


def shown(number: int) -> dict:
    return asked("GET", f"/training-tasks/task-{number}") or {}


def ended(task: str, status: str) -> None:
    wait(f"{task} to be {status}", lambda: (asked("GET", f"/training-tasks/{task}") or {}).get("status") == status)


def log(task: str) -> str:
    found = asked("GET", f"/training-tasks/{task}/logs?rank=0&stream=stdout&offset=0") or {"chunks": []}
    return "".join(chunk["text"] for chunk in found["chunks"])


def items(path: str) -> list[dict]:
    return (asked("GET", path) or {"items": []})["items"]


def asked(method: str, path: str, body: dict | None = None) -> dict | None:
    """What the API answers; nothing where this release does not have it."""
    token = ROOT / "server/token"
    if not token.exists():
        return None
    headers = {"authorization": f"Bearer {token.read_text().strip()}", "content-type": "application/json"}
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(f"http://{ADDRESS}/api/v1{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        if error.code not in (404, 405):
            print(f"{method} {path}: {error.code} {error.read().decode()}", file=sys.stderr)
        return None
    except OSError:
        return None


def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(ROOT / "home"), "FERMI_STATE_DIR": str(ROOT / "state")}


def start(name: str, *words: object) -> None:
    with open(ROOT / f"{name}.log", "wb") as out:
        subprocess.Popen([ROOT / "fermi", *map(str, words)], env=environment(), cwd=ROOT / "home",
                         stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def output(*words: str) -> str:
    return subprocess.run([ROOT / "fermi", *words], env=environment(), capture_output=True, text=True, check=True).stdout


def wait(what: str, look) -> None:
    until = time.monotonic() + PATIENCE_S
    while not look():
        if time.monotonic() > until:
            for path in ROOT.glob("*.log"):
                print(f"== {path.name}\n{path.read_text()[-2000:]}", file=sys.stderr)
            sys.exit(f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.05)


def pack(archive: pathlib.Path, expected: dict) -> None:
    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        parts = pathlib.PurePath(entry.name).parts
        if LEFT_OUT.intersection(parts) or not (entry.isreg() or entry.isdir() or entry.issym()):
            return None
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(archive, "w:xz", preset=9) as out:
        text = json.dumps(expected, ensure_ascii=False, indent=1).encode()
        about = tarfile.TarInfo("expected.json")
        about.size = len(text)
        out.addfile(about, io.BytesIO(text))
        for name in ("server", "agent-gn6", "agent-gn7", "state"):
            out.add(ROOT / name, name, filter=plain)
    print(f"{archive}: {archive.stat().st_size} bytes")


main(*sys.argv[1:])
