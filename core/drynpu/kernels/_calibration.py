"""
The calibrated part of the model: factors on the physics of a kernel.

They are few and add up as logarithms: of the generation, of the kernel family in it, and of the kernel type in that.
Each was shrunk towards nothing (the physics) when it was fitted, by as much as its measurements leave open. Generations
share none: first-generation chips and A2 name kernels alike that are different programs.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml
from attrs import field, frozen

from drynpu._errors import OptionError
from drynpu._packaged import parse_yaml
from drynpu._say import say_once
from drynpu.arrays import F64
from drynpu.kernels._families import family_of

CALIBRATION_VARIABLE: Final = "DRYNPU_CALIBRATION"
SUPPORTS: Final = ("seen", "family", "physics")
"""How much measurement is behind a prediction: of the kernel type, of its family, or none."""
_LEAST_US: Final = 0.5
"""What no kernel is shorter than, in us."""
_PHYSICS_SPREAD: Final = 0.4
"""Half width of the interval of a long kernel without any measurement, as a logarithm: a factor 1.5 either way."""
_LEAST_ROWS: Final = 3
_Us = TypeVar("_Us", float, F64)
_LONG_US: Final = 200.0
_WIDENING: Final = 0.2
"""
An interval widens below :data:`_LONG_US`, slowly: what starts a kernel, deals its blocks out and waits counts for more
the shorter it is. Of kernels of sources that were left out, 80 % span a factor 1.5 over 200 us, 1.9 at 20 to 200 us,
2.0 to 2.2 at 2.5 to 20 us and more below. One shape for all families (tools/calibrate.py).
"""


def width_by_duration(us: _Us) -> _Us:
    """Return how many times as wide, as a logarithm, the interval of a kernel that lasts *us* is as a long one's."""
    width: _Us = (1 + _LONG_US / us) ** _WIDENING
    return width


@frozen
class Factors:
    """What multiplies the physics of a kernel: its fixed costs, and its work."""

    fixed: float = 1.0
    work: float = 1.0


PHYSICS: Final = Factors()
"""The model without any measurement of kernel times."""


@frozen
class Coefficient:
    """One logarithm with its standard error and the number of kernels it was fitted to."""

    value: float
    error: float = 0.0
    rows: int = 0


@frozen(kw_only=True)
class Level:
    """The coefficients of a generation, a family, a type or a chip."""

    fixed: Coefficient
    work: Coefficient


@frozen(kw_only=True)
class Generation:
    """
    The coefficients of a generation of chips.

    ``levels`` has them under ``""`` (all kernels), the family, ``family/Type`` and ``chip/Name``; ``low`` and ``high``
    are the logarithms that an interval of 80 % of long kernels adds, by family, and by support for families that are
    not listed.
    """

    levels: Mapping[str, Level] = field(factory=dict, hash=False)
    low: Mapping[str, float] = field(factory=dict, hash=False)
    high: Mapping[str, float] = field(factory=dict, hash=False)
    sources: tuple[str, ...] = ()


@frozen(kw_only=True)
class Calibration:
    """All generations; ``name`` and ``digest`` tell in the metadata of a run which one it was made with."""

    name: str
    digest: str
    generations: Mapping[str, Generation] = field(factory=dict, hash=False)

    @property
    def label(self) -> str:
        """Name and digest, as the metadata of a run show them."""
        return f"{self.name} {self.digest}".strip()

    def factors(self, op_type: str, generation: str, chip: str) -> Factors:
        """Return what multiplies the physics of a kernel of *op_type*."""
        known = self.generations.get(generation)
        if known is None:
            return PHYSICS
        family, fixed, work = family_of(op_type).name, 0.0, 0.0
        for name in ("", f"chip/{chip}", family, _measured_as(known, family, op_type)):
            level = known.levels.get(name)
            if level is not None:
                fixed, work = fixed + level.fixed.value, work + level.work.value
        return Factors(math.exp(fixed), math.exp(work))

    def support(self, op_type: str, generation: str) -> str:
        """Return how much measurement is behind kernels of *op_type*."""
        known = self.generations.get(generation)
        family = family_of(op_type).name
        if known is None:
            return "physics"
        if _measured_as(known, family, op_type) in known.levels:
            return "seen"
        return "family" if family in known.levels and known.levels[family].work.rows >= _LEAST_ROWS else "physics"

    def interval(self, op_type: str, generation: str, us: float = math.inf) -> tuple[float, float]:
        """
        Return the factors of the lower and upper end of the interval that holds 80 % of kernels of *op_type*.

        A kernel that is predicted to last *us* is less sure the shorter it is; sums leave *us* out, in which what
        starts their kernels errs both ways.
        """
        known, support = self.generations.get(generation), self.support(op_type, generation)
        width = width_by_duration(max(us, _LEAST_US))
        if known is None:
            return math.exp(-_PHYSICS_SPREAD * width), math.exp(_PHYSICS_SPREAD * width)
        family = family_of(op_type).name
        name = family if support != "physics" and family in known.low else support
        low, high = known.low.get(name, -_PHYSICS_SPREAD), known.high.get(name, _PHYSICS_SPREAD)
        return math.exp(low * width), math.exp(high * width)

    @classmethod
    def from_documents(cls, name: str, texts: Mapping[str, str]) -> Calibration:
        """
        Read calibration files.

        Raises
        ------
        OptionError
            A file is not YAML, or lacks what every calibration has.
        """
        generations = {}
        for place, text in texts.items():
            try:
                document = parse_yaml(text)
                generations[str(document["generation"])] = _generation(document)
            except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
                raise OptionError([f"calibration {place!r} cannot be used: {error!r}"]) from error
        digest = hashlib.sha256("".join(texts[place] for place in sorted(texts)).encode()).hexdigest()[:12]
        return cls(name=name, digest=digest, generations=generations)


def _measured_as(known: Generation, family: str, op_type: str) -> str:
    """Return the level of a kernel type: its own, or the level of the kernel whose arguments it has as constants."""
    name = f"{family}/{op_type}"
    plain = name.removesuffix(CONSTANT_SUFFIX)
    return plain if name not in known.levels and plain in known.levels else name


CONSTANT_SUFFIX = "D"
"""What the graph engine adds to the type of a kernel whose axes or sizes are known when it is compiled."""


def _coefficient(row: Mapping[str, Any], part: str) -> Coefficient:
    value, error = row[part]
    return Coefficient(float(value), float(error), int(row["rows"]))


def _generation(document: Mapping[str, Any]) -> Generation:
    levels, spread = document["coefficients"], document["interval"]
    if not isinstance(levels, Mapping) or not isinstance(spread, Mapping):
        raise ValueError("coefficients and interval must be mappings")
    return Generation(
        levels={
            str(name): Level(
                fixed=_coefficient(row, "fixed"),
                work=_coefficient(row, "work"),
            )
            for name, row in levels.items()
        },
        low={str(name): float(ends[0]) for name, ends in spread.items()},
        high={str(name): float(ends[1]) for name, ends in spread.items()},
        sources=tuple(map(str, document.get("sources", ()))),
    )


@functools.cache
def bundled_calibration() -> Calibration:
    """Return the calibration that is part of drynpu; parsed once per process, the result is a value."""
    folder = resources.files("drynpu.platforms").joinpath("calibration")
    if not folder.is_dir():
        return Calibration(name="physics", digest="")
    texts = {e.name: e.read_text(encoding="utf-8") for e in folder.iterdir() if e.name.endswith(".yaml")}
    return Calibration.from_documents("bundled", texts)


def load_calibration(path: str | os.PathLike[str]) -> Calibration:
    """
    Return the bundled calibration with the generations of a user's file in place of its own.

    Raises
    ------
    OptionError
        The file cannot be read or used.
    """
    place = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError([f"calibration {place!r} cannot be read: {error}"]) from error
    calibration, usual = Calibration.from_documents(Path(path).name, {place: text}), bundled_calibration()
    return Calibration(
        name=calibration.name, digest=calibration.digest, generations={**usual.generations, **calibration.generations}
    )


def usual_calibration() -> Calibration:
    """
    Return the calibration that ``DRYNPU_CALIBRATION`` names, else the bundled one.

    A file that cannot be used is named once on stderr: a setting of a profiler must not end a training.
    """
    path = os.environ.get(CALIBRATION_VARIABLE, "").strip()
    return _usual(path) if path else bundled_calibration()


@functools.lru_cache(maxsize=8)
def _usual(path: str) -> Calibration:
    try:
        return load_calibration(path)
    except OptionError as error:
        say_once(f"{CALIBRATION_VARIABLE}: {error} The bundled calibration is used instead.")
        return bundled_calibration()
