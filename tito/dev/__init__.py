"""What the authors of the course use: export the reference, prove that the checks can fail."""
