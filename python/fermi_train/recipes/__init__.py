"""One file per algorithm, read from top to bottom."""
