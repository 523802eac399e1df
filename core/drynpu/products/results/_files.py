"""Which files of a directory are results, and of what kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import field, frozen

from drynpu.products.results._spellings import spellings
from drynpu.tables import Profile
from drynpu.writers.folders import FRAMEWORK_OUTPUT, TOOLKIT_OUTPUT

OUTPUT_FOLDERS = (FRAMEWORK_OUTPUT, TOOLKIT_OUTPUT)
_STAMP = re.compile(r"_(\d{14,})\.(?:csv|json|db)$")
_SLICE = re.compile(r"_slice_(\d+)_")
_FEWEST_TITLES = 3
_OLDER_FOLDERS = ("summary", "timeline")


@frozen(kw_only=True)
class ResultFiles:
    """
    The result files of one recording.

    Attributes
    ----------
    path:
        What was opened: a directory, or a single file.
    root:
        The directory that ``profiler_info*.json`` would be in.
    csv:
        By kind of ``spellings.yaml``; the slices of one file in their order.
    others:
        Files that no reader is for.
    """

    path: Path
    root: Path
    csv: Mapping[str, tuple[Path, ...]] = field(factory=dict)
    traces: tuple[Path, ...] = ()
    databases: tuple[Path, ...] = ()
    analyses: tuple[Path, ...] = ()
    documents: tuple[Path, ...] = ()
    others: tuple[Path, ...] = ()

    @property
    def all(self) -> tuple[Path, ...]:
        """Every file, by name."""
        tables = (file for files in self.csv.values() for file in files)
        known = (*tables, *self.traces, *self.databases, *self.analyses, *self.documents, *self.others)
        return tuple(sorted(known, key=lambda file: file.name))

    @property
    def readable(self) -> bool:
        """Whether there is a file that a profile can be made of."""
        return bool(self.csv or self.traces or self.databases or self.analyses)


def find_results(path: Path) -> ResultFiles | None:
    """
    Return the result files at *path*: a single file, or a directory that holds them or a folder with them.

    ``None`` where there is none. Of several exports of the toolkit the last one counts.
    """
    if path.is_file():
        results = _sorted(path, path.parent, [path]) if path.suffix in (".csv", ".json", ".db") else None
        return results if results is not None and results.readable else _by_titles(path)
    root = path.parent if path.name in OUTPUT_FOLDERS else path
    for folders in _places(path):
        # The toolkit's database stands beside the folder with its other results.
        beside = path.glob("msprof_*.db") if folders[0].name == OUTPUT_FOLDERS[1] and folders[0] != path else ()
        results = _sorted(path, root, [*(file for folder in folders for file in sorted(folder.iterdir())), *beside])
        if results.readable:
            return results
    return None


def has_output(path: Path) -> bool:
    """Return whether a directory is a folder of results, or has one with results in it."""
    is_output = path.name in OUTPUT_FOLDERS or any((path / name).is_dir() for name in OUTPUT_FOLDERS)
    return (is_output or bool(_older_folders(path))) and find_results(path) is not None


def only_toolkit_results(profile: Profile) -> bool:
    """Return whether a profile was read from results of the toolkit alone, whose names end in a time stamp."""
    return bool(profile.result_files) and all(_STAMP.search(file.name) for file in profile.result_files)


def result_name(profile: Profile) -> str:
    """Return the name for a folder with the deliverables of a profile: of its directory, or of its only file."""
    path = profile.path.resolve()
    if path.is_file():
        return path.stem
    return path.parent.name if path.name in OUTPUT_FOLDERS else path.name


def _places(path: Path) -> Iterable[list[Path]]:
    """Yield the folders whose files may be the results: one, or the folders of an older toolkit together."""
    parents = (path, *sorted(path.glob("PROF_*"), reverse=True))
    for name in OUTPUT_FOLDERS:
        for parent in parents:
            if (parent / name).is_dir():
                yield [parent / name]
    yield from filter(None, map(_older_folders, parents))
    yield [path]


def _older_folders(path: Path) -> list[Path]:
    """Return the folders in which CANN 5 and 6 leave results: a pair of them beside the records of each device."""
    devices = [path] if path.name.startswith("device_") else sorted(path.glob("device_*"))
    return [device / name for device in devices for name in _OLDER_FOLDERS if (device / name).is_dir()]


def _sorted(path: Path, root: Path, files: Iterable[Path]) -> ResultFiles:
    known = spellings()
    patterns = {name: re.compile(known[name]) for name in ("traces", "databases", "analyses", "documents")}
    tables = {kind: re.compile(entry["files"]) for kind, entry in known["csv"].items()}
    parts: dict[str, list[Path]] = {name: [] for name in (*patterns, "others")}
    csv: dict[str, list[Path]] = {}
    for file in files:
        if not file.is_file() or not re.search(known["others"], file.name):
            continue
        kind = next((kind for kind, pattern in tables.items() if pattern.search(file.name)), None)
        if kind is not None and file.suffix == ".csv":
            csv.setdefault(kind, []).append(file)
            continue
        part = next((name for name, pattern in patterns.items() if pattern.search(file.name)), "others")
        parts[part].append(file)
    for name in ("traces", "databases"):
        parts[name] = _latest(parts[name])
    return ResultFiles(
        path=path,
        root=root,
        csv={kind: tuple(_latest(paths)) for kind, paths in csv.items()},
        **{name: tuple(paths) for name, paths in parts.items()},
    )


def _latest(files: Iterable[Path]) -> list[Path]:
    """Return the slices of the export with the latest time stamp, in order."""
    stamped = [(match.group(1) if (match := _STAMP.search(file.name)) else "", file) for file in files]
    last = max((stamp for stamp, _ in stamped), default="")
    return sorted((file for stamp, file in stamped if stamp == last), key=_place)


def _place(file: Path) -> tuple[int, str]:
    match = _SLICE.search(file.name)
    return (int(match.group(1)) if match else 0), file.name


def _by_titles(path: Path) -> ResultFiles | None:
    """Return a single file under a name of the user's: tables are recognised by their titles."""
    if path.suffix == ".db":
        return ResultFiles(path=path, root=path.parent, databases=(path,))
    if path.suffix == ".json":
        return ResultFiles(path=path, root=path.parent, traces=(path,))
    if path.suffix != ".csv":
        return None
    with path.open(encoding="utf-8", errors="replace") as stream:
        titles = {title.strip().strip('"') for title in stream.readline().lstrip("\ufeff").split(",")}
    known = {
        kind: sum(any(name in titles for name in names) for _, *names in entry["columns"].values())
        for kind, entry in spellings()["csv"].items()
    }
    best = max(known, key=lambda kind: known[kind])
    if known[best] < _FEWEST_TITLES:
        return None
    return ResultFiles(path=path, root=path.parent, csv={best: (path,)})
