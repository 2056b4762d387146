"""Everything that is timed, one file a peer. `Missing` says why one cannot take part here."""

from __future__ import annotations


class Missing(Exception):
    """The peer is not installed, or not written yet."""
