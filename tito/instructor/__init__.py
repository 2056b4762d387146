"""What an instructor's course folder is made of."""
