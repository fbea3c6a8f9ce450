"""The command `fpformats`."""

from .app import SAMPLE, main

__all__ = ["SAMPLE", "main"]
