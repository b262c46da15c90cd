"""Writes down every signal it gets and leaves on the one it was told to.

usage: polite.py FOLDER SIGNAL[:SECONDS[:CODE]]     SIGNAL `never` stays until FOLDER/finish exists
FOLDER/<rank>.ready appears when the handlers are set, FOLDER/<rank>.signals holds the names, one per line.
"""

import os
import signal
import sys
import time

FOLDER = sys.argv[1]
RANK = os.environ["RANK"]
LEAVE_ON, SECONDS, CODE = (sys.argv[2].split(":") + ["0", "0"])[:3]


def taken(number, _frame):
    name = signal.Signals(number).name
    with open(os.path.join(FOLDER, f"{RANK}.signals"), "a") as file:
        file.write(name + "\n")
    if name == LEAVE_ON:
        time.sleep(float(SECONDS))
        print("saved and left", flush=True)
        os._exit(int(CODE))


for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT):
    signal.signal(caught, taken)
if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
    signal.signal(signal.SIGHUP, taken)
open(os.path.join(FOLDER, f"{RANK}.ready"), "w").close()
while not os.path.exists(os.path.join(FOLDER, "finish")):
    time.sleep(0.005)
