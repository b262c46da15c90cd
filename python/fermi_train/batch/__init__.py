"""Batch sizes, the schedule of the learning rate, and what a step is divided by."""
