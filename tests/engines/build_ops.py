"""Builds what DeepSpeed compiles when it is first used on CPU, so that no test waits for a compiler.

Into TORCH_EXTENSIONS_DIR; needs g++ and ninja on the PATH. Built once, the compiler is not needed again.
"""

from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder

ShareMemCommBuilder().load(verbose=False)
