"""What nbgrader calls in this course: preprocessors, the sealed Execute, the late policy."""
