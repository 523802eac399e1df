"""What makes two runs of a session the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drynpu_tf.capture import RunKey

__all__ = ["fetched_names", "names_key", "run_key"]


def run_key(fetches: Any, feed_dict: Any) -> RunKey:
    """Return the key of ``run(fetches, feed_dict)``; the order of fetches in nested structures counts, feeds' not."""
    feeds = feed_dict if isinstance(feed_dict, Mapping) else {}
    return ("run", tuple(_flat(fetches)), frozenset(map(_name, feeds)))


def names_key(fetches: Iterable[str], targets: Iterable[str], feeds: Iterable[str]) -> RunKey:
    """Return the key of a callable that is made of names."""
    return ("callable", tuple(fetches), tuple(targets), tuple(feeds))


def fetched_names(key: RunKey) -> tuple[str, ...]:
    """Return what a run with a key of this module fetches, and the targets that it runs, by name."""
    kind, fetched, *rest = key
    targets = rest[0] if kind == "callable" else ()
    return tuple(name for part in (fetched, targets) if isinstance(part, tuple) for name in part)


def _flat(fetches: Any) -> list[str]:
    if isinstance(fetches, Mapping):
        return [name for value in fetches.values() for name in _flat(value)]
    if isinstance(fetches, (list, tuple)):
        return [name for value in fetches for name in _flat(value)]
    return [_name(fetches)]


def _name(element: Any) -> str:
    """Return the name of a tensor, an operation or a variable; of anything else what tells it from its like."""
    if isinstance(element, (str, bytes)):
        return element if isinstance(element, str) else element.decode(errors="backslashreplace")
    name = getattr(element, "name", None)
    return name if isinstance(name, str) else f"{type(element).__name__}@{id(element)}"
