"""The hooks of the plugin ``mindinsight``; the import is cheap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drynpu.plugins import Exporter, hookimpl


@hookimpl
def drynpu_exporters() -> Mapping[str, Exporter]:
    """Return the exporter ``mindinsight``."""
    return {"mindinsight": _export}


def _export(profile: Any, folder: Path) -> Sequence[Path]:
    from drynpu_mindinsight.export import export_mindinsight

    return export_mindinsight(profile, folder)
