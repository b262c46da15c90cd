"""Checkpoints that are whole or absent, and the signals that ask for one."""
