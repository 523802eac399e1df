"""``drynpu analyze``: the summary of a result directory, with its deliverables rebuilt offline."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from drynpu import OutputError
from drynpu.analysis import summarise
from drynpu.cli._options import as_json, echo_json
from drynpu.export import export_msprof, export_torch
from drynpu.plugins import build_manager
from drynpu.tables import Profile, find_profiles, load_profile
from drynpu.views import render_summary, summary_document

__all__ = ["analyze"]


@click.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--no-export", is_flag=True, help="Only summarise; do not rebuild the deliverables.")
@as_json
def analyze(directory: Path, no_export: bool, json_output: bool) -> None:
    """
    Summarise DIRECTORY and rebuild its deliverables from the raw data.

    DIRECTORY is a result directory (*_ascend_pt), a PROF_* directory, or a folder that holds several.
    """
    paths = find_profiles(directory)
    if not paths:
        raise OutputError(
            f"no profile in {directory}: expected FRAMEWORK/ or PROF_*/ in it, or *_ascend_pt directories below it"
        )
    console = Console(stderr=True)
    documents: list[dict[str, object]] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        work = progress.add_task("reading", total=len(paths) * (1 if no_export else 2))
        for path in paths:
            progress.update(work, description=path.name)
            profile = load_profile(path)
            progress.advance(work)
            if not no_export:
                _export(profile)
                progress.advance(work)
            summary = summarise(profile)
            if json_output:
                documents.append(summary_document(summary))
            else:
                progress.stop()
                Console().print(render_summary(summary))
    if json_output:
        echo_json(documents[0] if len(documents) == 1 else documents)


def _export(profile: Profile) -> None:
    if profile.prof_path is not None:
        export_msprof(profile)
    if profile.path != profile.prof_path:
        export_torch(profile)
    for exporter in build_manager(record_problems=True).exporters().values():
        exporter(profile, profile.path)
