"""``drynpu analyze``: the summary of a result directory, with its deliverables rebuilt offline."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import click
from attrs import evolve, frozen
from rich.console import Console

from drynpu import CommandError, DrynpuError, OutputError, at_part, at_stage
from drynpu.analysis import Summary, summarise
from drynpu.cli.shared import as_json, console, echo_json
from drynpu.deliverables.record_group import RecordGroup
from drynpu.deliverables.registry import registered_groups
from drynpu.options import ExportType
from drynpu.plugins import Exporter, Plugins
from drynpu.products import (
    export_msprof,
    export_msprof_db,
    export_result,
    find_profiles,
    load_profile,
    only_toolkit_results,
    result_forms,
    result_name,
)
from drynpu.recorder import find_journals, recover
from drynpu.tables import Profile
from drynpu.views import render_summary, summary_document
from drynpu.writers.files import make_directory
from drynpu.writers.folders import TOOLKIT_OUTPUT


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path))
@click.option("--no-export", is_flag=True, help="Only summarise; do not rebuild the deliverables.")
@click.option(
    "--export-type",
    "export_types",
    type=click.Choice([kind.value for kind in ExportType]),
    multiple=True,
    help="Form of the deliverables; may be given for each. Default: what the recording was asked for.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Rebuild the deliverables in a folder below this one, and leave DIRECTORY as it is.",
)
@as_json
@click.pass_obj
def analyze(
    plugins: Plugins,
    directory: Path,
    no_export: bool,
    export_types: Sequence[str],
    output: Path | None,
    json_output: bool,
) -> None:
    """
    Summarise DIRECTORY and rebuild its deliverables from the raw data.

    DIRECTORY is a result directory (*_ascend_pt, *_ascend_ms), a PROF_* directory, or a folder that holds such; of a
    folder, --json prints a list. A profile that cannot be read is reported, and the others are done all the same.

    Where there is no raw data, only results, from a device or from elsewhere, these are summarised; DIRECTORY may then
    be a single file as well (trace_view.json, kernel_details.csv, msprof_*.db). They are rebuilt with --output alone.

    A recording whose process was killed is recovered first: its raw data is written from what was saved meanwhile.
    """
    messages = console(stderr=True)
    paths = _profiles(directory, output, messages)
    exporters = None if no_export else plugins.exporters(bundled=False).values()
    forms = tuple(ExportType(name) for name in export_types)
    summaries: list[Summary] = []
    for path in paths:
        try:
            with at_part(path.name):
                summary = _analyse(path, _Rebuild(exporters, forms, output))
        except DrynpuError as error:
            if len(paths) == 1:
                raise
            messages.print(f"drynpu: {path.name}: {error}", soft_wrap=True)
            continue
        summaries.append(summary)
        if not json_output:
            console().print(render_summary(summary))
    if json_output:
        documents = [summary_document(summary) for summary in summaries]
        echo_json(documents[0] if paths == [directory] else documents)
    if len(summaries) < len(paths):
        raise CommandError(f"{len(paths) - len(summaries)} of {len(paths)} profiles could not be analysed")


def _profiles(directory: Path, output: Path | None, messages: Console) -> list[Path]:
    """Return the profiles to analyse; first recover the profiles of killed processes."""
    recovered = recover(directory, lambda line: messages.print(f"drynpu: {line}", soft_wrap=True), output)
    try:
        paths = find_profiles(directory)
        if output is not None:
            of_journals = {journal.parent for journal in find_journals(directory)}
            paths = [*(path for path in paths if path not in of_journals), *(each.path for each in recovered)]
    except OSError as error:
        raise OutputError(f"cannot look into {directory}: {error.strerror}") from error
    if not paths:
        raise OutputError(
            f"no profile in {directory}: expected FRAMEWORK/, PROF_*/ or ASCEND_PROFILER_OUTPUT/ in it, result files "
            "(trace_view.json, kernel_details.csv, msprof_*.db), or *_ascend_pt or *_ascend_ms directories below it"
        )
    return paths


@frozen
class _Rebuild:
    """What is written: nothing without *exporters*; below *output*, else in the directory that was read."""

    exporters: Collection[Exporter] | None
    forms: Sequence[ExportType]
    output: Path | None


def _analyse(path: Path, rebuild: _Rebuild) -> Summary:
    """Read a profile, rebuild its deliverables if that is wanted, and sum it up."""
    try:
        groups = registered_groups()
        profile = load_profile(path, groups)
        if rebuild.exporters is not None and (profile.results is None or rebuild.output is not None):
            at_stage("Writing the deliverables")
            _export(profile, rebuild, groups)
        return summarise(profile)
    except OSError as error:
        raise OutputError(f"{error.filename or path}: {error.strerror}") from error


def _export(profile: Profile, rebuild: _Rebuild, groups: Sequence[RecordGroup]) -> None:
    forms = rebuild.forms or result_forms(profile)
    of_toolkit = profile.path == profile.prof_path or only_toolkit_results(profile)
    beside = None
    if rebuild.output is not None:
        profile = evolve(profile, path=rebuild.output / result_name(profile))
        beside = profile.path
        make_directory(beside)
    if (profile.prof_path is not None or of_toolkit) and ExportType.TEXT in forms:
        export_msprof(profile, None if beside is None else beside / TOOLKIT_OUTPUT, groups=groups)
    if not of_toolkit:
        # The framework's database takes the place of the toolkit's.
        export_result(profile, forms, groups)
    elif ExportType.DB in forms:
        export_msprof_db(profile, beside, groups=groups)
    for exporter in rebuild.exporters or ():
        exporter(profile, profile.path)
