"""The record kinds that a reader or a writer of ``PROF_XXX`` knows: they are handed in, not known here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from attrs import field, frozen

from drynpu._errors import RawFormatError
from drynpu._spelling import did_you_mean
from drynpu.raw._record_kind import RecordKind
from drynpu.raw._text_kind import TextKind

_Kind = TypeVar("_Kind", RecordKind, TextKind)


@frozen
class RecordKinds:
    """Record kinds and text kinds by name; no two have the same."""

    records: Mapping[str, RecordKind] = field(factory=dict, hash=False)
    texts: Mapping[str, TextKind] = field(factory=dict, hash=False)

    @classmethod
    def from_kinds(cls, kinds: Iterable[RecordKind | TextKind]) -> RecordKinds:
        """
        Return the kinds by name.

        Raises
        ------
        RawFormatError
            If two kinds have the same name.
        """
        records: dict[str, RecordKind] = {}
        texts: dict[str, TextKind] = {}
        for kind in kinds:
            if kind.name in records or kind.name in texts:
                message = f"Two record kinds are called {kind.name!r}: every kind has a name of its own."
                raise RawFormatError(message)
            if isinstance(kind, RecordKind):
                records[kind.name] = kind
            else:
                texts[kind.name] = kind
        return cls(MappingProxyType(records), MappingProxyType(texts))

    def record(self, name: str) -> RecordKind:
        """
        Return the record kind of that name.

        Raises
        ------
        RawFormatError
            If there is none; the message names the nearest.
        """
        return _find(self.records, name, "record kind")

    def text(self, name: str) -> TextKind:
        """
        Return the text kind of that name.

        Raises
        ------
        RawFormatError
            If there is none; the message names the nearest.
        """
        return _find(self.texts, name, "text kind")


NO_KINDS = RecordKinds()


def _find(known: Mapping[str, _Kind], name: str, what: str) -> _Kind:
    if name not in known:
        allowed = ", ".join(known) or "none"
        message = f"No {what} is called {name!r}.{did_you_mean(name, known)} Known: {allowed}."
        raise RawFormatError(message)
    return known[name]
