"""Rows of files, their formats, their tokens, and the order in which they are trained on."""
