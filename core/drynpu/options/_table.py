"""The option table, options.yaml: read when a row is first looked at."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal, TypeVar

import attrs
from attrs import field, frozen

from drynpu._errors import OptionError
from drynpu._packaged import packaged_yaml
from drynpu.options._values import Range

K = TypeVar("K")
V = TypeVar("V")


class Kind(enum.Enum):
    """How the text of an option is read; the value is how a usage text shows it."""

    SWITCH = "on|off"
    LEVEL = "on|off|l0|l1|l2|l3"
    GRAPH_API = "off|l0|l1"
    BLOCK = "all|on|off"
    MODE = "task-based|sample-based"
    METRICS = "group"
    INTEGER = "n"
    NUMBER = "x"
    LLC = "read|write"
    HOST_SYSTEMS = "cpu,mem,disk,network,osrt,numa"
    HOST_USAGE = "cpu,mem"
    STORAGE = "<n>MB"
    OP_TYPES = "type,type"
    OUTPUT = "directory"
    PATH = "path"
    EXPORT = "text|db"
    SIDES = "host,device"
    DEVICES = "all|id,id"
    PIDS = "pid,pid"
    DOMAINS = "domain,domain"
    FLOW = "name,name"
    TEXT = "text"
    ENVIRONMENT = "K=V;K=V"
    COMMAND = "command"


def kind_of_word(word: str) -> Kind:
    """Return the kind that the table calls *word*."""
    return Kind[word.upper()]


def _names(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _entries(value: str | Mapping[str, Any]) -> Mapping[str, Any]:
    return {value: {}} if isinstance(value, str) else value


def _range(value: list[float | str | None] | None) -> Range | None:
    return None if value is None else Range(*value)  # type: ignore[arg-type]


@frozen(kw_only=True)
class OptionRow:
    """One option with its facts, as options.yaml explains them; entries are plain mappings."""

    path: str
    kind: Kind = field(converter=kind_of_word)
    range: Range | None = field(default=None, converter=_range)
    wide_range: Range | None = field(default=None, converter=_range)
    wide_on: Collection[Any] = ()
    platforms: Collection[Any] | None = None
    not_platforms: Collection[Any] | None = None
    json: Mapping[str, Any] = field(factory=dict, converter=_entries)
    msprof: Mapping[str, Any] = field(factory=dict)
    config: Mapping[str, int] = field(factory=dict)
    bits: Mapping[str, Any] = field(factory=dict)
    inner_bits: Mapping[str, Any] = field(factory=dict)
    torch: tuple[str, ...] = field(default=(), converter=_names)
    mindspore: tuple[str, ...] = field(default=(), converter=_names)
    fixed_hz: int | None = None
    side: str | None = None
    leaves: Collection[Mapping[str, Any]] = ()
    torch_files: Collection[Mapping[str, Any]] = ()
    bytes: Collection[Mapping[str, Any]] = ()

    def platforms_of(self, entry: Mapping[str, object]) -> dict[str, Any]:
        """Return ``platforms`` and ``not_platforms`` of a key, flag or bit: its own, or the row's."""
        if "platforms" in entry or "not_platforms" in entry:
            return {"platforms": entry.get("platforms"), "not_platforms": entry.get("not_platforms")}
        return {"platforms": self.platforms, "not_platforms": self.not_platforms}


def _document() -> dict[str, Any]:
    return packaged_yaml("drynpu.options", "options.yaml")


@functools.cache
def option_rows() -> Mapping[str, OptionRow]:
    """Return every row by its path, in the order of the table."""
    sections = (rows for name, rows in _document().items() if name != "not_simulated")
    return {path: OptionRow(path=path, **facts) for rows in sections for path, facts in rows.items()}


def reasons_not_simulated() -> dict[str, str]:
    """Return why drynpu does not write a deliverable, by the name of each such file and layer."""
    return {name: why for why, names in _document()["not_simulated"].items() for name in names}


def range_of(path: str) -> Range | None:
    """Return the range of the number at *path* of the model, the widest of any platform; ``None`` for no number."""
    row = option_rows().get(path)
    return None if row is None else row.wide_range or row.range


def option_names(framework: Literal["torch", "mindspore"]) -> dict[str, str]:
    """Return keyword of the framework's profiler -> path of the option."""
    rows = option_rows().values()
    return {name: row.path for row in rows for name in (row.torch if framework == "torch" else row.mindspore)}


def option_spellings(path: str) -> dict[str, tuple[str, ...]]:
    """Return how the option at *path* is spelt, by ``torch``, ``mindspore``, ``json`` and ``msprof``; empty if not."""
    row = option_rows()[path]
    return {"torch": row.torch, "mindspore": row.mindspore, "json": tuple(row.json), "msprof": tuple(row.msprof)}


def fixed_hz(path: str) -> int:
    """Return how often the item at *path* is sampled where it is switched on without a rate."""
    rate = option_rows()[path].fixed_hz
    assert rate is not None
    return rate


class LazyTable(Mapping[K, V]):
    """A mapping that is built from the table when it is first looked at."""

    def __init__(self, build: Callable[[], Mapping[K, V]]) -> None:
        self._rows = functools.cache(build)

    def __getitem__(self, key: K) -> V:
        return self._rows()[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._rows())

    def __len__(self) -> int:
        return len(self._rows())


def check_ranges(instance: Any, where: str) -> None:
    """
    Raise `OptionError` with one line per number field of *instance*, a section, that lies outside its range.

    ``None`` passes: it means "not asked for" wherever a field allows it.
    """
    problems = []
    for attribute in attrs.fields(type(instance)):
        value = getattr(instance, attribute.name)
        # A default needs no check, so that defaults alone do not read the table.
        if value is None or value == attribute.default:
            continue
        limits = range_of(f"{where}.{attribute.name}")
        if limits is not None and not (isinstance(value, (int, float)) and limits.holds(value)):
            problems.append(f"{where}.{attribute.name}: {value!r} is out of range; allowed: {limits.describe()}.")
    if problems:
        raise OptionError(problems)
