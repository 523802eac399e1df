"""Platforms by number, by the name of a series or by the name of a chip."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType

from attrs import evolve

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean
from drynpu.platforms._converter import packaged_document, strict_converter
from drynpu.platforms._platform import Platform


def known_platforms() -> tuple[Platform, ...]:
    """Return every platform that the sources describe, those that names of chips mean first."""
    return tuple(_platforms().values())


def named_platforms() -> tuple[Platform, ...]:
    """Return the platforms that names of chips mean, each under a label of its own."""
    return tuple(platform for platform in known_platforms() if any(platform.series.values()))


def known_series() -> tuple[str, ...]:
    """Return the names of all series."""
    return tuple(series for platform in named_platforms() for series in platform.series)


def find_platform(version: str, *, split: bool = False) -> Platform:
    """
    Return the platform with that text of info.json ``platform_version``.

    Of a platform that no source describes nothing special is assumed: it counts as the A2 does where its cores are
    *split*, as the 910 does elsewhere.
    """
    known = _platforms().get(version)
    return evolve(_unknown()["split" if split else "unified"], version=version) if known is None else known


def resolve_platform(chip: str) -> Platform:
    """
    Return the platform of *chip*, whose options are known.

    Parameters
    ----------
    chip:
        A ``platform_version`` (``"5"``), a series (``910B``, ``A2``) or a SoC name (``Ascend910B2``).

    Raises
    ------
    OptionError
        When the text names no platform with known options.
    """
    return _resolve(chip)[0]


def resolve_series(chip: str) -> str:
    """
    Return the series of *chip*, which is anything that `resolve_platform` takes.

    A name that several series share (platform version ``5``) gives the first of them. Raises `OptionError`.
    """
    platform, series = _resolve(chip)
    return series or next(iter(platform.series))


@functools.cache
def _resolve(chip: str) -> tuple[Platform, str]:
    known = _platforms().get(chip)
    if known is not None and known.options.known:
        return known, ""
    name = chip.casefold().removeprefix("ascend")
    for prefix, platform_and_series in _prefixes().items():
        if name.startswith(prefix):
            return platform_and_series
    named = named_platforms()
    names = [*(platform.label for platform in named), *(platform.version for platform in named)]
    raise OptionError([f"chip: {chip!r} is no chip family; allowed: {', '.join(names)}.{did_you_mean(chip, names)}"])


@functools.cache
def _prefixes() -> Mapping[str, tuple[Platform, str]]:
    """Return platform and series by the prefix of SoC names, the longest first: ``310p`` before ``310``."""
    by_prefix = {
        prefix: (platform, series)
        for platform in known_platforms()
        for series, prefixes in platform.series.items()
        for prefix in prefixes
    }
    return MappingProxyType(dict(sorted(by_prefix.items(), key=lambda item: -len(item[0]))))


@functools.cache
def _platforms() -> Mapping[str, Platform]:
    converter = strict_converter()
    return MappingProxyType(
        {
            version: converter.structure({"version": version, **facts}, Platform)
            for version, facts in packaged_document("platforms.yaml")["platforms"].items()
        }
    )


@functools.cache
def _unknown() -> Mapping[str, Platform]:
    converter = strict_converter()
    facts = packaged_document("platforms.yaml")["unknown"]
    return {cores: converter.structure({"version": "", **facts[cores]}, Platform) for cores in facts}
