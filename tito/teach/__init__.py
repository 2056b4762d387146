"""For instructors: a course folder on nbgrader, a grader that no submission can fool, and what it tells."""
