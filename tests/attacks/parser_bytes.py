"""A source of null bytes, lone surrogates and a false coding line."""

from __future__ import annotations

HONEST = 0

EXERCISES = {}


EXERCISES["double"] = "# -*- coding: rot13 -*-\n\x00def double(x):\n    return '\ud800'\n"
