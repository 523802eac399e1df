"""Chip descriptions from YAML: bundled, from the user, or from a plugin."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import TypeAlias

import yaml
from attrs import fields_dict
from cattrs import BaseValidationError, transform_error
from cattrs.errors import ForbiddenExtraKeysError

from drynpu._errors import ChipError
from drynpu._packaged import parse_yaml
from drynpu._spelling import did_you_mean
from drynpu.platforms._chip import Chip, Interconnect
from drynpu.platforms._converter import strict_converter

DEFAULT_CHIP = "Ascend910B2"
"""The chip that is simulated where nobody names one."""

_GENERATIONS = ("mini", "unified", "split")
_SHAPES = ("none", "mesh", "switch", "ring")
LINKS = ("HCCS", "HCCS_SW", "UB")
"""Link types of a board or super-node, as records name them."""
_MAY_BE_ZERO = frozenset({"hccs_gbs", "ctrl_cpu_cores", "aicpu_cores"})
"""A chip may lack the link or the CPU cores; any other number is a rate or a size that the model divides by."""

AnyPath: TypeAlias = "str | os.PathLike[str]"


def load_chip(name: str, extra_files: Iterable[AnyPath] = ()) -> Chip:
    """
    Return the chip called *name*.

    Parameters
    ----------
    name:
        SoC name or alias, in any case, with or without the leading ``Ascend``: ``Ascend910B2``, ``910b2``.
    extra_files:
        YAML files with further chips; they win over a bundled chip of the same name.

    Raises
    ------
    ChipError
        No chip has that name, or one of *extra_files* cannot be used.
    """
    chips = known_chips(extra_files)
    wanted = _fold(name)
    for chip in chips:
        if _fold(chip.name) == wanted:
            return chip
    for chip in chips:
        if wanted in {_fold(alias) for alias in chip.aliases}:
            return chip
    names = [chip.name for chip in chips]
    spellings = [*names, *(alias for chip in chips for alias in chip.aliases)]
    near = did_you_mean(f"Ascend{wanted}", spellings) if wanted else ""
    raise ChipError(f"unknown chip {name!r}; known chips: {', '.join(names)}.{near}")


def known_chips(extra_files: Iterable[AnyPath] = ()) -> tuple[Chip, ...]:
    """
    Return all chips, sorted by name: the bundled ones and the chips of *extra_files*.

    Raises
    ------
    ChipError
        One of *extra_files* cannot be used.
    """
    by_name = {_fold(chip.name): chip for chip in _bundled()}
    for path in extra_files:
        chip = load_chip_file(path)
        by_name[_fold(chip.name)] = chip
    return tuple(sorted(by_name.values(), key=lambda chip: chip.name))


def load_chip_file(path: AnyPath) -> Chip:
    """
    Read one chip description: a YAML mapping with the fields of :class:`Chip`.

    Raises
    ------
    ChipError
        The file cannot be read; or one line per problem, each with its path in the document.
    """
    place = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ChipError(f"chip description {place!r} cannot be read: {error}") from error
    return _parse(text, place)


@functools.cache
def _bundled() -> tuple[Chip, ...]:
    """Parse the packaged files once per process; the result is a value."""
    folder = resources.files("drynpu.platforms").joinpath("chips")
    return tuple(
        _parse(entry.read_text(encoding="utf-8"), entry.name)
        for entry in folder.iterdir()
        if entry.name.endswith(".yaml")
    )


def _fold(name: str) -> str:
    return name.strip().casefold().removeprefix("ascend")


def _parse(text: str, place: str) -> Chip:
    try:
        document = parse_yaml(text)
    except yaml.YAMLError as error:
        raise ChipError(f"chip description {place!r} is not YAML: {error}") from error
    if not isinstance(document, dict):
        raise ChipError(f"chip description {place!r}: expected a mapping of Chip fields, got {document!r}")
    problems = list(_impossible_values(document))
    try:
        chip = strict_converter().structure(document, Chip)
    except BaseValidationError as error:
        problems = [*transform_error(error, format_exception=explain_mistake), *problems]
    if problems:
        raise ChipError("\n".join(f"chip description {place!r}: {problem}" for problem in problems))
    return chip


def explain_mistake(error: BaseException, wanted: type | None) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        known = fields_dict(error.cl)
        return "; ".join(
            f"unknown key {key!r}.{did_you_mean(key, known)}" for key in sorted(map(str, error.extra_fields))
        )
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    return str(error) if wanted is None or isinstance(error, ValueError) else f"expected {wanted}"


def _impossible_values(document: Mapping[str, object]) -> Iterator[str]:
    """Yield what has the right type and still cannot be: nothing, or less, of something."""
    generation = document.get("generation")
    if isinstance(generation, str) and generation not in _GENERATIONS:
        near = did_you_mean(generation, _GENERATIONS)
        yield f"{generation!r} is not one of {', '.join(_GENERATIONS)}.{near} @ $.generation"
    for key, value in document.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or key not in fields_dict(Chip):
            continue
        if key in _MAY_BE_ZERO and not 0 <= value < math.inf:
            yield f"{value!r} must not be negative @ $.{key}"
        elif key not in _MAY_BE_ZERO and not 0 < value < math.inf:
            yield f"{value!r} must be a number greater than 0 @ $.{key}"
    interconnect = document.get("interconnect")
    if isinstance(interconnect, dict):
        yield from _impossible_links(interconnect)


def _impossible_links(document: Mapping[str, object]) -> Iterator[str]:
    for key, allowed in (("shape", _SHAPES), ("link", LINKS)):
        value = document.get(key)
        if isinstance(value, str) and value not in allowed:
            near = did_you_mean(value, allowed)
            yield f"{value!r} is not one of {', '.join(allowed)}.{near} @ $.interconnect.{key}"
    for key, value in document.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or key not in fields_dict(Interconnect):
            continue
        least = 1 if key.endswith("_devices") else 0
        if not least <= value < math.inf or (key == "efficiency" and not 0 < value <= 1):
            yield f"{value!r} is not possible @ $.interconnect.{key}"
