"""From outside: rosters, submissions, archives. Everything is hostile until it is taken. Begin at intake.py."""
