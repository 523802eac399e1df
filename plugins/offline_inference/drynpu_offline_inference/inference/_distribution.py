"""The metadata of the distribution ``aclruntime``, which ``ais_bench`` compares with the release that it needs."""

from __future__ import annotations

import sys
from pathlib import Path

_FOLDER = Path(__file__).with_name("metadata")


def show_distribution() -> None:
    """
    Let programs that ask for the release of ``aclruntime`` find one.

    ``ais_bench`` asks ``pkg_resources``, which looks through the folders of ``sys.path`` alone.
    """
    folder = str(_FOLDER)
    if folder not in sys.path:
        sys.path.append(folder)
    known = sys.modules.get("pkg_resources")
    if known is not None:
        known.working_set.add_entry(folder)
