"""Runs the shell by magics of the notebook."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
%%bash
touch /tmp/ran
cat /etc/passwd
""",
}
