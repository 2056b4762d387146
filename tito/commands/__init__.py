"""The commands of `tito`: each module has `run(args, course)`, which returns the exit code."""
