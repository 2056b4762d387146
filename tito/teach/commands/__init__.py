"""One file a command of `tito teach`: `arguments(parser)` says what it takes, `run(args, course)` does it."""
