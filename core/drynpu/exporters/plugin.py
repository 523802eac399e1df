"""
The hooks of the core: the bundled exporters.

The import is cheap: what an exporter needs is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drynpu.plugins import Exporter, hookimpl


@hookimpl
def drynpu_exporters() -> Mapping[str, Exporter]:
    """Return the exporters by the names that ``drynpu export --to`` takes."""
    return {"chrome": _chrome, "mindinsight": _mindinsight, "parquet": _parquet}


def _chrome(profile: Any, folder: Path) -> Sequence[Path]:
    from drynpu.exporters.chrome import export_chrome

    return export_chrome(profile, folder)


def _mindinsight(profile: Any, folder: Path) -> Sequence[Path]:
    from drynpu.exporters.mindinsight import export_mindinsight

    return export_mindinsight(profile, folder)


def _parquet(profile: Any, folder: Path) -> Sequence[Path]:
    from drynpu.exporters.parquet import export_parquet

    return export_parquet(profile, folder)
