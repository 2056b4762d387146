"""What runs on the untrusted side: a zygote, and a sealed child for each phase of a submission.

Only the standard library, NumPy, tito.checks and what plans a student's file are imported here. No check, no secret,
no gradebook and no other submission ever enters these processes. How to read it: zygote.py forks, isolate.py (with
landlock.py and seccomp.py) shuts the door, child.py answers questions.
"""
