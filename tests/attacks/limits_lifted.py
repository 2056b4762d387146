"""Lifts its limits, then takes more."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import resource
for name in dir(resource):
    if name.startswith("RLIMIT_"):
        try:
            resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except (OSError, ValueError):
            pass
def double(x):
    return bytearray(2**33)
""",
}
