"""``drynpu export``: a run in the files of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from drynpu import CommandError, OutputError
from drynpu._spelling import did_you_mean
from drynpu.cli.newest import newest_run
from drynpu.cli.shared import as_json, console, echo_json
from drynpu.exporters.registry import all_exporters
from drynpu.plugins import Exporter, Plugins
from drynpu.views.runs import Run
from drynpu.views.theme import size_text


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path))
@click.option("--to", "names", multiple=True, required=True, help="Exporter; may be given for each of several.")
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for the files."
)
@as_json
@click.pass_obj
def export(plugins: Plugins, directory: Path, names: Sequence[str], output: Path, json_output: bool) -> None:
    """
    Write the run in DIRECTORY as other tools read it: chrome, or what plugins add (perfetto, parquet, mindinsight).

    DIRECTORY is a result directory, a folder with the ranks of a run, or a single result file; of a folder with several
    runs the newest is meant. All ranks are written to the same folder; files that stand there under the same names are
    replaced.
    """
    exporters = all_exporters(plugins)
    for name in names:
        if name not in exporters:
            off = plugins.off_for_exporter(name) or f"There are: {', '.join(sorted(exporters))}"
            raise CommandError(f"no exporter {name!r}.{did_you_mean(name, exporters)} {off}")
    run = newest_run(directory)
    output.mkdir(parents=True, exist_ok=True)
    files: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        written = _export(run, name, exporters[name], output)
        if not written:
            raise OutputError(f"{name}: the profile holds nothing that this exporter writes")
        files[name] = [str(path) for path in written]
        if json_output:
            continue
        size = size_text(sum(path.stat().st_size for path in written))
        console().print(f"{name}: {len(written)} files in {output} ({size})", soft_wrap=True)
    if json_output:
        echo_json({"written": files})


def _export(run: Run, name: str, exporter: Exporter, output: Path) -> list[Path]:
    """Return the files that an exporter wrote for all ranks."""
    written: list[Path] = []
    for rank in run.ranks:
        files = list(exporter(rank.profile, output))
        again = set(files) & set(written)
        if again:
            raise OutputError(
                f"{name}: rank {rank.label} replaced {min(again)} of another rank; export ranks one by one"
            )
        written += files
    return written
