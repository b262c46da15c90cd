"""Tries, as another user of the machine, to get a secret, a token, a log, or to run code.

Reads what it attacks as JSON on stdin: folders, pids, the server's address, the port of the ranks, and the texts that must not
be found (`needles`), and perhaps the ways to try (`only`). Each way answers with what it got; one JSON line per way says whether a
needle was in it, or a deed done.
"""

import base64
import ctypes
import errno
import json
import os
import socket
import struct
import subprocess
import sys

TARGET = json.load(sys.stdin)
NEEDLES = {name: text.encode() for name, text in TARGET["needles"].items()}
HOST, PORT = TARGET["address"].rsplit(":", 1)
LIBC = ctypes.CDLL(None, use_errno=True)
PIDS = TARGET["pids"]
WAYS = []


class Done(Exception):
    """A deed that must not be possible was done."""


def way(function):
    WAYS.append(function)
    return function


def read(path, most=1 << 22):
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except OSError:
        return b""


def walk(folder):
    """All that can be read below a folder, with the names."""
    got = b""
    for base, folders, names in os.walk(folder):
        got += " ".join(folders + names).encode()
        for name in names:
            path = os.path.join(base, name)
            if os.path.isfile(path):
                got += read(path)
    return got


def must_fail(what, *arguments):
    try:
        what(*arguments)
    except OSError:
        return b""
    raise Done(f"{getattr(what, '__name__', what)} {arguments}")


def of_processes(name):
    return b"".join(read(f"/proc/{pid}/{name}") for pid in PIDS)


def links_of_processes(name):
    return b"".join(walk(f"/proc/{pid}/{name}/") for pid in PIDS if os.access(f"/proc/{pid}/{name}/", os.R_OK))


def http(method, path, headers=None, body=None):
    lines = [f"{method} {path} HTTP/1.1", "Connection: close"]
    sent = {"Host": TARGET["address"], **(headers or {})}
    if body is not None:
        sent |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    lines += [f"{name}: {value}" for name, value in sent.items()]
    with socket.create_connection((HOST, int(PORT)), timeout=5) as link:
        link.sendall("\r\n".join([*lines, "", body or ""]).encode())
        got = b""
        try:
            while piece := link.recv(1 << 16):
                got += piece
        except OSError:
            pass
    return got


def refused(*request, **more):
    """A request that must not be granted."""
    got = http(*request, **more)
    if not got.split(b" ", 2)[1:2] or got.split(b" ", 2)[1] in (b"200", b"101"):
        raise Done(f"{request} was granted: {got[:200]!r}")
    return got


def fermi(*words):
    """The command line, as this user types it."""
    home = TARGET["home"]
    run = subprocess.run(
        [TARGET["fermi"], *words],
        env={"PATH": os.environ["PATH"], "HOME": home, "FERMI_STATE_DIR": home + "/state", "FERMI_LANG": "en"},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
    )
    if run.returncode == 0:
        raise Done(f"fermi {words} went well: {run.stdout[:200]!r}")
    return run.stdout + run.stderr


# Files.


@way
def the_folder_of_everything():
    return walk(TARGET["up"])


@way
def the_database():
    return b"".join(read(f"{TARGET['up']}/server/{name}") for name in ["fermi.db", "fermi.db-wal", "fermi.db-shm"])


@way
def the_keys():
    return b"".join(read(f"{TARGET['up']}/server/{name}") for name in ["token", "secret", "secrets.key"])


@way
def what_ranks_wrote_as_the_server_has_it():
    return walk(f"{TARGET['up']}/server/streams")


@way
def the_sources_that_were_sent():
    return walk(f"{TARGET['up']}/server/snapshots")


@way
def the_folder_of_the_agent():
    return walk(TARGET["agent"])


@way
def the_pass_of_the_agent():
    return b"".join(read(path) for path in TARGET["files"] if path.endswith("pass.json"))


@way
def the_assignment_and_the_journal():
    return b"".join(read(path) for path in TARGET["files"] if path.endswith(("assignment.json", ".ndjson")))


@way
def every_file_by_its_path():
    return b"".join(read(path) for path in TARGET["files"])


@way
def the_logs_of_up():
    return walk(f"{TARGET['up']}/logs")


@way
def the_state_folder_of_the_account():
    return walk(TARGET["state"])


@way
def the_working_folder_of_the_ranks():
    return b"".join(read(f"/proc/{pid}/cwd/journal.ndjson") for pid in PIDS)


@way
def temporary_folders_and_shared_memory():
    got = walk("/dev/shm")
    for folder in ["/tmp", "/var/tmp", "/run"]:
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if "fermi" in name and path != TARGET["place"] and not path.startswith(TARGET["home"]):
                got += read(path) if os.path.isfile(path) else b""
    return got + read("/proc/sysvipc/shm")


@way
def a_file_put_into_the_servers_folder():
    return must_fail(os.open, f"{TARGET['up']}/server/token", os.O_WRONLY | os.O_CREAT)


@way
def a_file_put_into_the_agents_folder():
    return must_fail(os.open, f"{TARGET['agent']}/planted", os.O_WRONLY | os.O_CREAT)


@way
def a_program_put_where_ranks_start():
    return must_fail(os.open, f"{TARGET['up']}/agents/planted", os.O_WRONLY | os.O_CREAT)


@way
def a_hard_link_to_the_token():
    return must_fail(os.link, f"{TARGET['up']}/server/token", f"{TARGET['home']}/token")


@way
def the_folder_moved_away():
    return must_fail(os.rename, TARGET["up"], TARGET["up"] + "-moved")


@way
def a_watch_on_the_folder():
    if LIBC.inotify_add_watch(LIBC.inotify_init(), f"{TARGET['up']}/server".encode(), 0xFFF) >= 0:
        raise Done("inotify")
    return b""


# Processes.


@way
def variables_of_processes():
    return of_processes("environ")


@way
def memory_of_processes():
    got = b""
    for pid in PIDS:
        for line in read(f"/proc/{pid}/maps").splitlines():
            start, _, end = line.split(b" ")[0].partition(b"-")
            with open(f"/proc/{pid}/mem", "rb") as memory:
                memory.seek(int(start, 16))
                got += memory.read(int(end, 16) - int(start, 16))
        must_fail(open, f"/proc/{pid}/mem", "rb")
    return got


@way
def descriptors_of_processes():
    return b"".join(must_fail(os.listdir, f"/proc/{pid}/fd") for pid in PIDS)


@way
def descriptors_by_their_numbers():
    return b"".join(read(f"/proc/{pid}/fd/{number}", 1 << 12) for pid in PIDS for number in range(3, 40))


@way
def command_lines_of_processes():
    # Readable for everyone by the kernel's design: nothing that counts may stand there.
    return of_processes("cmdline")


@way
def what_else_the_kernel_tells_of_processes():
    names = ["status", "stat", "comm", "wchan", "stack", "syscall", "auxv", "io", "limits", "mounts", "cgroup", "numa_maps"]
    return b"".join(of_processes(name) for name in names)


@way
def the_same_by_their_threads():
    got = b""
    for pid in PIDS:
        for thread in os.listdir(f"/proc/{pid}/task"):
            got += read(f"/proc/{pid}/task/{thread}/environ") + read(f"/proc/{pid}/task/{thread}/cmdline")
    return got


@way
def the_folders_of_processes():
    return links_of_processes("cwd")


@way
def the_roots_of_processes():
    return b"".join(read(f"/proc/{pid}/root{TARGET['up']}/server/token") for pid in PIDS)


@way
def the_mapped_files_of_processes():
    return links_of_processes("map_files")


def call(number, *arguments):
    """A system call that must not be granted."""
    if LIBC.syscall(number, *arguments) >= 0:
        raise Done(f"system call {number} {arguments[:2]}")
    return b""


@way
def tracing():
    attach, seize = 16, 0x4206
    for pid in PIDS:
        for request in (attach, seize):
            if LIBC.ptrace(request, pid, None, None) >= 0:
                raise Done(f"ptrace of {pid}")
    return b""


@way
def reading_memory_by_a_call():
    buffer = ctypes.create_string_buffer(64)
    there = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 64)
    return b"".join(call(310, pid, there, 1, there, 1, 0) for pid in PIDS)


@way
def taking_descriptors():
    for pid in PIDS:
        handle = LIBC.syscall(434, pid, 0)
        if handle >= 0:
            for number in range(3, 20):
                call(438, handle, number, 0)
            os.close(handle)
    return b""


@way
def signals_and_cores():
    for pid in PIDS:
        for number in (0, 6, 10, 11, 15):
            must_fail(os.kill, pid, number)
    return b""


@way
def limits_of_processes():
    wide = (ctypes.c_ulong * 2)(1 << 30, 1 << 30)
    return b"".join(call(302, pid, 4, wide, None) for pid in PIDS)


@way
def counters_of_processes():
    attributes = ctypes.create_string_buffer(struct.pack("<IIQ", 1, 112, 0).ljust(112, b"\0"))
    return b"".join(call(298, attributes, pid, -1, -1, 0) for pid in PIDS)


# Sockets and ports.


@way
def named_sockets():
    got = b""
    for line in read("/proc/net/unix").decode(errors="replace").splitlines()[1:]:
        path = line.split()[-1] if len(line.split()) > 7 else ""
        if "fermi" not in path and TARGET["place"] not in path:
            continue
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(1)
            try:
                link.connect("\0" + path[1:] if path.startswith("@") else path)
                link.sendall(struct.pack("<I", 6) + b'"kill"')
                got += link.recv(1 << 12)
            except OSError:
                continue
    return got


@way
def the_api_without_a_token():
    task = TARGET["task"]
    paths = ["training-tasks", f"training-tasks/{task}", f"training-tasks/{task}/launch", "secrets", "tokens", "events"]
    return b"".join(refused("GET", f"/api/v1/{path}") for path in paths)


@way
def logs_without_a_token():
    return refused("GET", f"/api/v1/training-tasks/{TARGET['task']}/logs?attempt=1&rank=0&stream=stdout&offset=0")


@way
def a_task_without_a_token():
    body = json.dumps({"taskName": "evil", "command": {"argv": ["/bin/true"]}, "distributedConfig": {"nodeIds": ["env-001"]}})
    return refused("POST", "/api/v1/training-tasks", body=body)


@way
def a_token_that_is_guessed():
    got = b""
    for guess in ["", "token", "null", "undefined", "fermi_", "0" * 48]:
        got += refused("GET", "/api/v1/session", headers={"Authorization": f"Bearer {guess}"})
    return got


@way
def as_if_a_proxy_stood_between():
    headers = {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1", "Forwarded": "for=127.0.0.1", "X-Forwarded-User": "root"}
    return refused("GET", "/api/v1/secrets", headers=headers)


@way
def a_cookie_that_is_made_up():
    return refused("GET", "/api/v1/secrets", headers={"Cookie": f"fermi-session-{PORT}=1", "Fermi-Front-End": "console"})


@way
def what_is_open_to_everyone():
    # By design: whether the server lives, which release it is, and the pages that ask for a log-in.
    return b"".join(http("GET", path) for path in ["/livez", "/readyz", "/version", "/", "/api/v1/health"])


def socket_of_an_agent(**headers):
    key = base64.b64encode(b"0123456789abcdef").decode()
    upgrade = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, "Connection": "Upgrade"}
    return refused("GET", "/api/agent/v1/link", headers={**upgrade, **headers})


@way
def the_agents_door_without_a_token():
    return socket_of_an_agent()


@way
def the_agents_door_in_the_name_of_an_environment():
    return socket_of_an_agent(**{"X-Fermi-Environment": "env-001", "X-Fermi-Credential": "0" * 32})


@way
def a_journal_in_the_name_of_an_environment():
    run = f"/api/agent/v1/runs/{TARGET['task']}-g1-n0-i1"
    claim = {"X-Fermi-Environment": "env-001", "X-Fermi-Credential": "0" * 32}
    got = refused("GET", f"{run}/journal", headers=claim)
    return got + refused("POST", f"{run}/journal?offset=0", headers=claim, body='{"v":1}\n')


@way
def the_port_at_which_supervisors_and_ranks_meet():
    # Torch's store knows no user: while ranks run, what they put there is open to all who reach the port, by torch's design.
    greeting = json.dumps({"hello": {"version": 1, "run": "x", "secret": "", "nodeRank": 1}}).encode()
    got = b""
    for words in (struct.pack("<I", len(greeting)) + greeting, b"GET / HTTP/1.0\r\n\r\n"):
        try:
            with socket.create_connection((HOST, TARGET["masterPort"] or 29500), timeout=2) as link:
                link.sendall(words)
                got += link.recv(1 << 16)
        except OSError:
            pass
    return got


# Commands.


@way
def the_command_line_of_another_account():
    server = f"http://{TARGET['address']}"
    return fermi("task", "list", "--server", server) + fermi("secret", "list", "--server", server)


@way
def the_token_file_by_the_command_line():
    return fermi("task", "list", "--server", f"http://{TARGET['address']}", "--token-file", f"{TARGET['up']}/server/token")


@way
def a_backup_of_the_data():
    return fermi("server", "backup", f"{TARGET['home']}/stolen", "--data-dir", f"{TARGET['up']}/server")


@way
def a_second_agent_on_its_folder():
    return fermi("agent", "--server", f"http://{TARGET['address']}", "--name", "gn6", "--data-dir", TARGET["agent"])


def main():
    only = TARGET.get("only")
    for function in WAYS:
        if only and function.__name__ not in only:
            continue
        try:
            got, done = function(), None
        except Done as deed:
            got, done = b"", str(deed)
        except OSError as error:
            got, done = errno.errorcode.get(error.errno, str(error)).encode(), None
        found = [name for name, needle in NEEDLES.items() if needle in got]
        print(json.dumps({"way": function.__name__, "bytes": len(got), "found": found, "done": done}), flush=True)


main()
