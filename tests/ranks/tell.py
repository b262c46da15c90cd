"""Writes down how it was started: FERMI_TELL/<rank>.json with its environment, arguments, folder and CPUs."""

import json
import os
import sys


def text(value):
    """Bytes that are not UTF-8 stay themselves, one character each."""
    return os.fsencode(value).decode("latin-1")


with open(os.path.join(os.environ["FERMI_TELL"], os.environ["RANK"] + ".json"), "w") as file:
    json.dump(
        {
            "env": {text(name): text(value) for name, value in os.environ.items()},
            "argv": [text(word) for word in sys.argv],
            "folder": os.getcwd(),
            "cpus": sorted(os.sched_getaffinity(0)),
            "name": __name__,
            "flags": sys.flags.verbose,
            "unbuffered": sys.stdout.line_buffering or sys.stdout.write_through,
            "executable": sys.executable,
        },
        file,
    )
