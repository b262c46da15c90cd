"""Processes that work side by side end with their work, with their parent, and with a sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fermi_train.data.side_by_side import side_by_side
from fermi_train.messages import Failure

PYTHON = Path(__file__).parents[2]


def test_results_come_in_the_order_of_the_things() -> None:
    def late(number: int) -> tuple[int, int]:
        time.sleep(0.05 if number == 0 else 0)
        return number, os.getpid()

    with side_by_side(late, range(20), 2) as results:
        found = list(results)
    assert [number for number, _ in found] == list(range(20))
    pids = {pid for _, pid in found}
    assert os.getpid() not in pids and len(pids) <= 2
    with side_by_side(late, range(2), 1) as results:
        assert {pid for _, pid in results} == {os.getpid()}


def test_an_error_of_one_is_raised_here_and_the_rest_is_left() -> None:
    def fails(number: int) -> int:
        if number == 3:
            raise OSError(28, "No space left on device", "shard")
        return number

    with pytest.raises(OSError, match="shard"), side_by_side(fails, range(1000), 2) as results:
        list(results)


def test_one_that_is_killed_is_told_in_a_sentence() -> None:
    def dies(number: int) -> int:
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(Failure, match="perhaps for want of memory"), side_by_side(dies, range(10), 2) as results:
        list(results)


WORK = r"""
import os, sys, time
from fermi_train.data.side_by_side import side_by_side

def tell(number):
    os.write(1, b"%d\n" % os.getpid())
    time.sleep(600)

with side_by_side(tell, [0, 1], 2) as results:
    list(results)
"""


def test_an_interrupt_does_not_wait_for_what_they_are_at() -> None:
    # A test may have been started where nobody is interrupted.
    parent = subprocess.Popen(
        [sys.executable, "-c", f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{WORK}"],
        cwd=PYTHON,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None
    with parent.stdout:
        for _ in range(2):
            parent.stdout.readline()
        parent.send_signal(signal.SIGINT)
        try:
            assert parent.wait(30) != 0
        finally:
            parent.kill()
        assert parent.stdout.read() == ""


def test_they_end_with_their_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", WORK], cwd=PYTHON, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        pids = [int(parent.stdout.readline()) for _ in range(2)]
        parent.kill()
        parent.wait()
        # The pipe ends when nobody holds it any more.
        assert parent.stdout.read() == ""
    deadline = time.monotonic() + 10
    while any(_is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "they work on without their parent"
        time.sleep(0.01)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
