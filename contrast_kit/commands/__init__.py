"""What `python -m contrast_kit` can do, one command a file."""
