#!/usr/bin/env python3
"""Calls scripts one after the other as a shell would, and tells how each has ended.

    python tests/specification/own.py '[["main.py", "--mode", "train"]]'

What all of them import is imported once: each call is a process that is forked from here.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
import traceback


def called(words: list[str]) -> dict[str, int | str]:
    """Calls one script with its words: its exit code, and all that it has written."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            os._exit(code_of(words))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return {"code": code, "said": said.read().decode(errors="replace")}


def code_of(words: list[str]) -> int:
    """Is the script, to its end."""
    sys.argv = words
    code = 0
    try:
        runpy.run_path(words[0], run_name="__main__")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    import torch  # noqa: F401
    import transformers  # noqa: F401

    print(json.dumps([called(words) for words in json.loads(sys.argv[1])]))
