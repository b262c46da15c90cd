"""Fails inside torch's own @record, which writes the error file; prints nothing of it."""

import os

import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    dist.init_process_group("gloo")
    if os.environ["RANK"] == "1":
        # Only the error file may tell: the streams are closed before the exception leaves the process.
        os.close(1)
        os.close(2)
        raise ValueError("the ninth sample is empty")
    dist.barrier()


if __name__ == "__main__":
    main()
