"""Ranks that do not want to end: each ignores every polite signal, and most leave somebody behind.

usage: hostile.py FOLDER [KIND]      the kind follows from RANK when it is not named
Every process writes its number and start time to FOLDER/<rank>-<who> once it is as hostile as it will be.
"""

import multiprocessing
import os
import signal
import sys
import time

KINDS = ["stubborn", "forker", "daemon", "loader", "runaway"]


def ignore_polite_signals():
    for polite in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(polite, signal.SIG_IGN)


def leave_number(folder, name):
    with open("/proc/self/stat") as stat:
        started = stat.read().rsplit(")", 1)[1].split()[19]
    draft = os.path.join(folder, "." + name)
    with open(draft, "w") as file:
        file.write(f"{os.getpid()} {started}")
    os.rename(draft, os.path.join(folder, name))


def stay():
    while True:
        time.sleep(1000)


def forker(folder, rank):
    if os.fork() == 0:
        leave_number(folder, f"{rank}-child")
        stay()


def daemonise():
    """True in the grandchild, which belongs to no session or parent of the rank any more."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return False
    os.setsid()
    if os.fork():
        os._exit(0)
    return True


def daemon(folder, rank):
    if daemonise():
        leave_number(folder, f"{rank}-daemon")
        stay()


def loader_worker(folder, name):
    ignore_polite_signals()
    leave_number(folder, name)
    stay()


def loader(folder, rank):
    context = multiprocessing.get_context("fork")
    for index in range(2):
        arguments = (folder, f"{rank}-worker{index}")
        context.Process(target=loader_worker, args=arguments, daemon=True).start()


def runaway(folder, rank):
    """Closes everything, throws its environment away and becomes another program."""
    if daemonise():
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        os.closerange(3, 256)
        script = os.path.abspath(__file__)
        os.execve(sys.executable, [sys.executable, "-S", script, folder, "as-nobody", str(rank)], {})


def hopper(folder, rank):
    """Never stands still: forks, lets the parent go, and again, so that whoever has seen it is too late to strike."""
    trail = os.path.join(folder, f"{rank}-trail")
    if daemonise():
        for _ in range(200_000):
            with open(trail, "a") as file:
                file.write(".")
            if os.fork():
                os._exit(0)
        os._exit(0)


def main():
    folder = sys.argv[1]
    ignore_polite_signals()
    if sys.argv[2:3] == ["as-nobody"]:
        leave_number(folder, f"{sys.argv[3]}-runaway")
        stay()
    rank = int(os.environ["RANK"])
    kind = sys.argv[2] if len(sys.argv) > 2 else KINDS[rank % len(KINDS)]
    if kind != "stubborn":
        globals()[kind](folder, rank)
    leave_number(folder, f"{rank}-main")
    stay()


if __name__ == "__main__":
    main()
