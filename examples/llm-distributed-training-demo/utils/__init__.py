"""What the notebooks and tests of the demo share."""
