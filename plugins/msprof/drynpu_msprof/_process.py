"""What ``drynpu msprof`` does with PROF directories that are there (cann_msprof.md 6.2)."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from attrs import frozen

from drynpu import CommandError, DrynpuError, OutputError
from drynpu.deliverables.communication.analyzer_db import export_communication_db
from drynpu.deliverables.registry import registered_groups
from drynpu.products import (
    Reports,
    export_documents,
    export_msprof,
    export_msprof_db,
    find_profiles,
    load_profile,
)
from drynpu.tables import Profile
from drynpu_msprof._flags import Request
from drynpu_msprof._iteration import select_iteration
from drynpu_msprof._reports import read_reports
from drynpu_msprof.query import QUERY_COLUMNS, query_profile

# Exit codes of the vendor's command (cann_msprof.md 6.2).
_BAD_PARAMETER, _BAD_PATH, _BAD_STEP_TRACE = 1, 2, 9
_RECORDS = ("FRAMEWORK", "host", "device_*", "PROF_*/host", "PROF_*/device_*")
# The toolkit's mark on data that was parsed; tools look for it.
_PARSED = "all_file.complete"
_FORBIDDEN = {
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    "\b": "\\b",
    "\t": "\\t",
    "\v": "\\v",
    "\x7f": "\\u007F",
    '"': '\\"',
    "'": "'",
    "%": "\\%",
    ">": "\\>",
    "<": "\\<",
    "|": "\\|",
    "&": "\\&",
    "$": "\\$",
    ";": "\\;",
    "`": "\\`",
    "\\": "\\\\",
}
"""What the command refuses in a path, as it shows it (Ascend/msprof common_func/msprof_common.py)."""


def info(text: str) -> None:
    """Print what happens, at once: an application may print in between."""
    click.echo(f"[INFO] {text}")
    sys.stdout.flush()


def warn(text: str) -> None:
    """Print what was skipped or does not count; the run goes on."""
    click.echo(f"[WARNING] {text}", err=True)


@frozen(kw_only=True)
class Processed:
    """
    What was done with one directory.

    ``files`` are those that were written, ``rows`` what a query lists of it.
    """

    directory: Path
    files: tuple[Path, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    def document(self) -> dict[str, object]:
        """Return it as JSON types; the keys of ``query`` are the headings of the table."""
        rows = [dict(zip(QUERY_COLUMNS, row, strict=True)) for row in self.rows]
        return {"directory": str(self.directory), "files": [str(path) for path in self.files], "query": rows}


def process(request: Request) -> list[Processed]:
    """
    Do what is asked with every PROF directory at ``request.output``, and return what was done with those.

    A directory that cannot be read is reported and left out, as the command does; the others are worked on.

    Raises
    ------
    CommandError
        A bad path (exit code 2) or parameter (1).
    OutputError
        A file cannot be written.
    """
    reports = read_reports(Path(request.reports).expanduser()) if request.reports else Reports()
    for text in reports.warnings:
        warn(text)
    verb = request.mode
    directories = _directories(request.output, with_results=verb == "query")
    for directory in directories:
        info(f"Start {verb} data in {directory.name}.")
    work = _Work(request, reports)
    modes = {"parse": work.parse, "query": work.query, "export": work.export, "analyze": work.analyze}
    done = modes[verb](directories)
    for directory in directories:
        info(f"{verb.title()} all data in {directory.name} done.")
    return done


def _directories(output: str, *, with_results: bool) -> list[Path]:
    """
    Return the PROF directories at a path: itself, its children, or PROF directories in result directories below it.

    *with_results* takes in what holds only results, of which there is nothing to parse.
    """
    if not output:
        raise CommandError("The path is empty. Please enter a valid path.", exit_code=_BAD_PARAMETER)
    for character, shown in _FORBIDDEN.items():
        if character in output:
            raise CommandError(f"The path contains invalid character: '{shown}'.", exit_code=_BAD_PARAMETER)
    path = Path(os.path.realpath(Path(output).expanduser()))
    if not path.exists():
        raise _bad_path(path, "does not exist. Please check that the path exists.")
    if not path.is_dir():
        raise _bad_path(path, "is not a directory. Please check the path.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise _bad_path(path, "does not have permission to read. Please check that the path is readable.")
    results = [profile for profile in find_profiles(path) if not _has_records(profile)] if with_results else []
    if not results and not any(child.is_dir() and not child.is_symlink() for child in path.iterdir()):
        raise _bad_path(path, "does not have PROF dir. Please check the path.")
    directories = [*_prof_directories(path), *results]
    if not directories:
        warn(f'The path "{path}" does not contain valid profiling data.')
    return directories


def _bad_path(path: Path, what: str) -> CommandError:
    return CommandError(f'The path "{path}" {what}', exit_code=_BAD_PATH)


def _has_records(path: Path) -> bool:
    return any(any(path.glob(pattern)) for pattern in _RECORDS)


def _prof_directories(path: Path) -> Iterator[Path]:
    for directory in find_profiles(path):
        if not _has_records(directory):
            continue
        if directory.name.startswith("PROF_"):
            yield directory
        elif directory == path:
            yield from (child for child in sorted(path.glob("PROF_*")) if find_profiles(child) == [child])
        else:
            yield from _prof_directories(directory)


@frozen
class _Work:
    """One way of working through PROF directories per mode."""

    request: Request
    reports: Reports

    def parse(self, directories: Sequence[Path]) -> list[Processed]:
        """Read everything again, mark it as parsed, and list it."""
        for directory in directories:
            self._parse(directory)
        return self.query(directories)

    def query(self, directories: Sequence[Path]) -> list[Processed]:
        """Print the table of devices, models and iterations."""
        done = []
        for directory in directories:
            profile = _load(directory)
            if profile is not None:
                done.append(Processed(directory=directory, rows=tuple(query_profile(profile).rows())))
        rows = [row for each in done for row in each.rows]
        if rows:
            _print_table(sorted(rows, key=lambda row: (row[0], row[3])))
        return done

    def export(self, directories: Sequence[Path]) -> list[Processed]:
        """Write the results beside the results of earlier exports."""
        done = []
        for directory in directories:
            profile = self._read(directory)
            if profile is None:
                continue
            if self.request.iteration is not None:
                try:
                    profile = select_iteration(profile, *self.request.iteration)
                except CommandError as error:
                    if error.exit_code != _BAD_STEP_TRACE:
                        raise
                    # The command says so and goes on, with exit code 0.
                    click.echo(f"[ERROR] {error}", err=True)
                    continue
            written = self._results(profile)
            if written:
                info(f"The files are stored in the {directory} path.")
            else:
                info(f'There is no data to export for "{directory}"')
            self._clear(directory)
            done.append(Processed(directory=directory, files=tuple(written)))
        return done

    def _results(self, profile: Profile) -> list[Path]:
        """Write tables and timelines, and the database; of one iteration there is none, as with the command."""
        written: list[Path] = []
        groups = registered_groups()
        if not self.request.database_only:
            as_json = self.request.json_tables
            written += export_msprof(profile, reports=self.reports, json_tables=as_json, groups=groups)
        if self.request.iteration is None:
            database = export_msprof_db(profile, groups=groups)
            written += [] if database is None else [database]
        return written

    def analyze(self, directories: Sequence[Path]) -> list[Processed]:
        """Write the analyses of communication that are asked for."""
        done = []
        names = [f"analyze/{rule}.json" for rule in self.request.rules]
        for directory in directories:
            profile = self._read(directory)
            if profile is None:
                continue
            written: list[Path] = []
            if profile.level == "level0":
                warn("Analyze will do nothing in prof level 0.")
            else:
                groups = () if self.request.database_only else registered_groups()
                written += export_documents(profile, directory, names, groups=groups)
                database = export_communication_db(profile, directory, self.request.rules)
                written += [] if database is None else [database]
                for path in written:
                    info(f"{path.stem} is stored in {path}.")
                if not written:
                    warn(f'There is no hccl data to analyze communication in "{directory}".')
            self._clear(directory)
            done.append(Processed(directory=directory, files=tuple(written)))
        return done

    def _read(self, directory: Path) -> Profile | None:
        """Return the profile; it counts as parsed from then on."""
        parts = _parts(directory)
        if parts and all((part / "data" / _PARSED).exists() for part in parts):
            for part in parts:
                info(f'The data in "{part}" has been analyzed. Parsing phase will be skipped.')
            return _load(directory)
        return self._parse(directory)

    def _parse(self, directory: Path) -> Profile | None:
        parts = _parts(directory)
        for part in parts:
            info(f'Start analyzing data in "{part}" ...')
        profile = _load(directory)
        if profile is not None:
            for part in parts:
                _mark(part)
                info(f'Analysis data in "{part}" finished.')
        return profile

    def _clear(self, directory: Path) -> None:
        """Remove the databases of the parsing, which then counts as not done."""
        if not self.request.clear:
            return
        try:
            for part in (*_parts(directory), directory / "analyze"):
                if (part / "sqlite").is_dir():
                    shutil.rmtree(part / "sqlite")
                (part / "data" / _PARSED).unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"{directory}: cannot be cleared: {error}") from error


def _parts(directory: Path) -> list[Path]:
    """Return the directories of a PROF directory that hold data, the host's first."""
    parts = [directory / "host", *sorted(directory.glob("device_*"))]
    return [part for part in parts if (part / "data").is_dir()]


def _load(directory: Path) -> Profile | None:
    try:
        profile = load_profile(directory)
    except DrynpuError as error:
        warn(f'Analysis data in "{directory}" failed. Maybe the data is incomplete. {error}')
        return None
    for note in profile.notes:
        warn(f"{directory.name}: {note}")
    return profile


def _mark(part: Path) -> None:
    path = part / "data" / _PARSED
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o640))
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(QUERY_COLUMNS, *rows, strict=True)]
    for row in (QUERY_COLUMNS, *rows):
        # A tab after every cell and an empty line after every row, as the command prints them.
        click.echo("".join(f"{cell.ljust(width)}\t" for cell, width in zip(row, widths, strict=True)) + "\n")
