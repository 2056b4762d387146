"""The trusted side of grading: expectations, comparisons, verdicts. Begin at grading.py."""
