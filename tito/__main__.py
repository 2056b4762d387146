"""`python -m tito`."""

from __future__ import annotations

import sys

from tito.cli import main

if __name__ == "__main__":
    sys.exit(main())
