"""A rank that shows itself: one line into the FIFO of the bench, one to standard output, in one write each."""

import os
import time

rank = os.environ.get("RANK") or os.environ["OMPI_COMM_WORLD_RANK"]
fifo = os.open(os.environ["FERMI_BENCH_SIGNS"], os.O_WRONLY)
os.write(fifo, f"{rank} {os.getpid()}\n".encode())
os.close(fifo)
os.write(1, f"line of rank {rank}\n".encode())
time.sleep(float(os.environ.get("FERMI_BENCH_STAY", "0")))
