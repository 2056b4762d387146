"""A switch. Supplied: it imports nothing of ours."""

from __future__ import annotations

state = {"on": True}


def is_on() -> bool:
    """Whether it is on."""
    return state["on"]
