"""The commands of `python -m contrast_kit`, one a file."""
