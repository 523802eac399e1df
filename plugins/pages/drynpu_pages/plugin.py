"""The hooks of the plugin ``pages``; the import is cheap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from drynpu.plugins import Exporter, hookimpl

if TYPE_CHECKING:
    import click

    from drynpu.tables import Profile

_VERBS = {
    "dashboard": "Serve runs as pages for a browser, with the timeline.",
    "report": "Write the pages of a run to one HTML file, or as a picture.",
    "whatif": "Simulate a run again with another chip, faster products or links, or no host gaps.",
}


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu dashboard``, ``drynpu report`` and ``drynpu whatif``, and show how far long verbs are."""
    from drynpu.plugins.verbs import LazyVerb
    from drynpu_pages.progress_line import show_progress

    show_progress(group)

    for verb, line in _VERBS.items():
        group.add_command(LazyVerb(verb, f"drynpu_pages.verbs.{verb}", line, "Look at runs"))


@hookimpl
def drynpu_open_run(path: Path) -> object:
    """Return what `drynpu.open_run` gives."""
    from drynpu_pages.opened import open_run

    return open_run(path)


@hookimpl
def drynpu_exporters() -> Mapping[str, Exporter]:
    """Return ``parquet``, the tables that ``drynpu.open_run`` gives, and ``perfetto``, the dashboard's timeline."""
    return {"parquet": _export_parquet, "perfetto": _export_perfetto}


def _export_parquet(profile: Profile, folder: Path) -> Sequence[Path]:
    from drynpu_pages.parquet import export_parquet

    return export_parquet(profile, folder)


def _export_perfetto(profile: Profile, folder: Path) -> Sequence[Path]:
    from drynpu_pages.perfetto import export_perfetto

    return export_perfetto(profile, folder)
