"""nbgrader's configuration for this course: what `nbgrader generate_assignment` must know to release a lesson."""

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (nbgrader defines it before it reads this file)

c.CourseDirectory.course_id = "tinytorch"

# tito recognises an unwritten exercise by the bare exception; tito/release.py holds the same texts, a test compares.
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
# What stands where the student answers a question for reflection.
c.ClearSolutions.text_stub = "YOUR ANSWER HERE"
