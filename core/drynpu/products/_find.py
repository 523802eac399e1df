"""Which directory is a profile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from drynpu._errors import OutputError
from drynpu.layouts.result_files import PROFILER_INFO_PATTERN
from drynpu.products._other_results import other_results
from drynpu.products._product import FRAMEWORK_FOLDER, Product
from drynpu.products.registry import product_of, registered_products
from drynpu.products.results import ResultFiles, find_results, has_output

_WANTED = (
    "a *_ascend_pt or *_ascend_ms directory (with FRAMEWORK, PROF_* or ASCEND_PROFILER_OUTPUT), a PROF_* directory "
    "(with host, device_*, device_*/summary or mindstudio_profiler_output), or one of the result files "
    "(trace_view.json, msprof_*.json, kernel_details.csv, op_summary_*.csv, ascend_pytorch_profiler*.db, msprof_*.db)"
)


@frozen
class ProfileDirectory:
    """A profile on disk: the directory itself, and the two places its records are in."""

    path: Path
    prof_path: Path | None
    framework_path: Path | None
    notes: tuple[str, ...] = ()
    results: ResultFiles | None = None
    """What there is where nothing was recorded here, only results of others."""


def find_profiles(path: Path, products: Sequence[Product] | None = None) -> list[Path]:
    """
    Return the profiles at *path*: itself if it is one, else those among its direct children, sorted by name.

    Result directories belong to *products*, by default all registered ones.

    Raises
    ------
    OutputError
        If *path* is not a directory.
    """
    path = Path(path)
    if path.is_file() and find_results(path) is not None:
        return [path]
    if not path.is_dir():
        state = "is no result file" if path.exists() else "does not exist"
        message = f"No profile at {path}: it {state}. Looked for {_WANTED}, or a directory that holds such."
        raise OutputError(message)
    known = registered_products() if products is None else products
    if _is_profile(path, known):
        return [path]
    children = sorted(child for child in path.iterdir() if child.is_dir() and _is_profile(child, known))
    # Files that lie beside profiles were exported from them.
    return children or ([path] if find_results(path) is not None else [])


def _is_profile(path: Path, products: Sequence[Product]) -> bool:
    return _is_prof(path) or _is_result(path, products) or has_output(path)


def locate(path: Path, products: Sequence[Product]) -> ProfileDirectory:
    """
    Return the one profile at *path*, or in it.

    Raises
    ------
    OutputError
        If there is none or more than one; the message says what was looked for and what was found.
    """
    profiles = find_profiles(path, products)
    if len(profiles) != 1:
        what = (
            f"{len(profiles)} profiles ({', '.join(p.name for p in profiles)}); name one of them"
            if profiles
            else "none"
        )
        other = "" if profiles else other_results(Path(path))
        message = f"Expected one profile at {path} and found {what}. {other}A profile is {_WANTED}."
        raise OutputError(message)
    profile = profiles[0]
    if not _is_result(profile, products):
        if not _is_prof(profile):
            return ProfileDirectory(profile, None, None, results=find_results(profile))
        return ProfileDirectory(profile, profile, None)
    profs = sorted(child for child in profile.iterdir() if child.is_dir() and _is_prof(child))
    framework = profile / product_of(profile, {}, products).folder
    notes = (
        () if len(profs) < 2 else (f"{profile.name} holds {len(profs)} PROF directories; {profs[-1].name} was read",)
    )
    return ProfileDirectory(profile, profs[-1] if profs else None, framework if framework.is_dir() else None, notes)


def _is_prof(path: Path) -> bool:
    """Return whether a directory is the toolkit's, with records; what is left of one without them are results."""
    if not path.name.startswith("PROF_") or not ((path / "host").is_dir() or any(path.glob("device_*"))):
        return False
    return any(path.glob("host/data/*")) or any(path.glob("device_*/data/*")) or find_results(path) is None


def _is_result(path: Path, products: Sequence[Product]) -> bool:
    if (path / FRAMEWORK_FOLDER).is_dir() or any(product.holds_profile(path) for product in products):
        return True
    # A stray profiler_info.json alone says nothing: a profiler that was never started leaves one where it stands.
    named = any(product.recognise(path, {}) for product in products)
    marked = named or any(path.glob(PROFILER_INFO_PATTERN))
    return marked and any(_is_prof(child) for child in path.glob("PROF_*"))
