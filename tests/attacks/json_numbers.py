"""A notebook with a number of a million digits, and names given twice."""

from __future__ import annotations

HONEST = 0

EXERCISES = {}


def change(text: str) -> str:
    """The file that is handed in."""
    return text.rstrip()[:-1] + ', "n": ' + "9" * 10**6 + ', "cells": 1, "cells": []}'
