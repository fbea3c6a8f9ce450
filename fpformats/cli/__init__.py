"""The command `fpformats`."""

from . import vectors as _vectors  # noqa: F401 - adds its commands
from .app import SAMPLE, main

__all__ = ["SAMPLE", "main"]
