"""Builds what DeepSpeed compiles when it is first used on CPU, so that no test waits for a compiler.

Into TORCH_EXTENSIONS_DIR; needs g++, Python's headers, and ninja on the PATH. Built once, the compiler is not needed again.
"""

import shutil
import sys

if not shutil.which("g++"):
    sys.exit("DeepSpeed compiles a part of itself and finds no g++; on Debian: apt-get install g++ python3-dev")

from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder

ShareMemCommBuilder().load(verbose=False)
