"""``python -m drynpu``: the ``drynpu`` command where no script is installed."""

from __future__ import annotations

from drynpu.cli import main

if __name__ == "__main__":
    main()
