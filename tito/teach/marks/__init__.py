"""Where results go: the store, policies, nbgrader's gradebook, an LMS, Gradescope."""
