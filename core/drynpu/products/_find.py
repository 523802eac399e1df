"""Which directory is a profile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from drynpu._errors import OutputError
from drynpu.products._product import FRAMEWORK_FOLDER, Product
from drynpu.products.registry import product_of, registered_products

_WANTED = (
    "a *_ascend_pt or *_ascend_ms directory (with FRAMEWORK or PROF_*), or a PROF_* directory (with host or device_*)"
)


@frozen
class ProfileDirectory:
    """A profile on disk: the directory itself, and the two places its records are in."""

    path: Path
    prof_path: Path | None
    framework_path: Path | None
    notes: tuple[str, ...] = ()


def find_profiles(path: Path, products: Sequence[Product] | None = None) -> list[Path]:
    """
    Return the profiles at *path*: itself if it is one, else those among its direct children, sorted by name.

    Result directories are those of *products*, by default all that are registered.

    Raises
    ------
    OutputError
        If *path* is not a directory.
    """
    path = Path(path)
    if not path.is_dir():
        state = "is not a directory" if path.exists() else "does not exist"
        message = f"No profile at {path}: it {state}. Looked for {_WANTED}, or a directory that holds such."
        raise OutputError(message)
    known = registered_products() if products is None else products
    if _is_prof(path) or _is_result(path, known):
        return [path]
    children = (child for child in path.iterdir() if child.is_dir())
    return sorted(child for child in children if _is_prof(child) or _is_result(child, known))


def locate(path: Path, products: Sequence[Product]) -> ProfileDirectory:
    """
    Return the one profile at *path*, or in it.

    Raises
    ------
    OutputError
        If there is none or more than one; the message says what was looked for and what was found.
    """
    found = find_profiles(path, products)
    if len(found) != 1:
        what = f"{len(found)} profiles ({', '.join(p.name for p in found)}); name one of them" if found else "none"
        message = f"Expected one profile at {path} and found {what}. A profile is {_WANTED}."
        raise OutputError(message)
    profile = found[0]
    if not _is_result(profile, products):
        return ProfileDirectory(profile, profile, None)
    profs = sorted(child for child in profile.iterdir() if child.is_dir() and _is_prof(child))
    framework = profile / product_of(profile, {}, products).folder
    notes = (
        () if len(profs) < 2 else (f"{profile.name} holds {len(profs)} PROF directories; {profs[-1].name} was read",)
    )
    return ProfileDirectory(profile, profs[-1] if profs else None, framework if framework.is_dir() else None, notes)


def _is_prof(path: Path) -> bool:
    return path.name.startswith("PROF_") and ((path / "host").is_dir() or any(path.glob("device_*")))


def _is_result(path: Path, products: Sequence[Product]) -> bool:
    if (path / FRAMEWORK_FOLDER).is_dir() or any(product.holds_profile(path) for product in products):
        return True
    # A stray profiler_info.json alone says nothing: a profiler that was never started leaves one where it stands.
    named = any(product.recognise(path, {}) for product in products)
    marked = named or any(path.glob("profiler_info*.json"))
    return marked and any(_is_prof(child) for child in path.glob("PROF_*"))
