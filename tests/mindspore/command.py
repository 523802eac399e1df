"""The ``drynpu`` command as a file, for a warm process; where drynpu is installed there is one of that name."""

from __future__ import annotations

from drynpu.cli import main

main()
