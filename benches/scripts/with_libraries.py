"""tests/ranks/torch_warm.py with the imports of a training that uses large libraries.

usage: with_libraries.py FOLDER
"""

import os
import runpy

import transformers  # noqa: F401
import deepspeed  # noqa: F401

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
runpy.run_path(os.path.join(ROOT, "tests/ranks/torch_warm.py"), run_name="__main__")
