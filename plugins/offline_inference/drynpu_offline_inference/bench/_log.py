"""Lines of the tool: on stdout, with the level in front, as the vendor's prints them."""

from __future__ import annotations

import logging
import sys

LOGGER = logging.getLogger("ais_bench")


def start_log(*, debug: bool = False) -> None:
    """Show the tool's lines, from debug or from info on."""
    if not LOGGER.handlers:
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(logging.Formatter("[%(levelname)s] %(message)s"))
        LOGGER.addHandler(handler)
        LOGGER.propagate = False
    LOGGER.setLevel(logging.DEBUG if debug else logging.INFO)


def refuse(text: str) -> RuntimeError:
    """Show an error and return the exception for it."""
    LOGGER.error(text)
    return RuntimeError(text)
