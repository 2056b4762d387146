"""For students: what is released, unlocked and installed; the course folder that it comes from."""
