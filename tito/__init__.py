"""The command-line tool of the TinyTorch course."""

from __future__ import annotations

__version__ = "0.1.0"
