"""The commands of `python -m contrast_kit`, one per file."""
