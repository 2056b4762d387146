"""Not written yet."""

from peers import Missing

raise Missing("not written yet")
