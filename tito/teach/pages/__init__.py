"""What students and instructors are told: offline pages. Begin at feedback.py and report.py."""
