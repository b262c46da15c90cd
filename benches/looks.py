"""What the benches of runs read of them: files, journals, and until when they wait for it."""

import contextlib
import json
import time


def text(path):
    """What a file has, nothing where it is not there."""
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def rows(path):
    """The JSON objects that a file has, one per line; what a writer that was killed has left is none."""
    found = []
    for line in text(path).splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


def events(journal, *names):
    """The events of these names that a journal has whole; all where none is named."""
    found = (row for row in rows(journal) if "event" in row)
    return [row for row in found if not names or row["event"] in names]


def wait_for(look, seconds):
    """What `look` finds, as soon as it finds something; an error that says so after so long."""
    until = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > until:
            raise TimeoutError(f"nothing came within {seconds} s")
        time.sleep(0.01)
    return found
