"""
Addresses: the whole state of what is shown, so that a link, a reload and a restarted server show the same.

``/run/<name of the run>/<page>?rank=0&step=3&where=host``
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote, urlencode

from attrs import field, frozen

_RUN = "/run/"
_MARGIN = 4
"""Part of a time that is shown before it and after it."""
_NOT_CHOICES = ("rank", "step", "token")
LOOK_KEYS = ("from", "to", "event", "find")
"""What says where on a page a reader is, not which page: a window, an event (``<Unix ns>.<name>``), a search."""


@frozen
class Address:
    """The content of an address. Without ``run`` it is the address of the list of runs."""

    run: str = ""
    page: str = ""
    rank: str = ""
    step: str = ""
    choices: Mapping[str, str] = field(factory=dict)
    look: Mapping[str, str] = field(factory=dict)
    """Where on the page a reader is; the page itself does not depend on it."""


def read_address(path: str | None, query: str | None) -> Address:
    """Return what a path and a query (with its ``?``) say; what is unknown there is left out."""
    values = dict(parse_qsl((query or "").removeprefix("?")))
    run = page = ""
    if path and path.startswith(_RUN):
        run, _, page = path[len(_RUN) :].rpartition("/")
    choices = {name: value for name, value in values.items() if name not in (*_NOT_CHOICES, *LOOK_KEYS)}
    look = {name: value for name, value in values.items() if name in LOOK_KEYS}
    return Address(unquote(run), unquote(page), values.get("rank", ""), values.get("step", ""), choices, look)


def path_of(run: str, page: str) -> str:
    """Return the path of a page of a run."""
    return f"{_RUN}{quote(run)}/{quote(page)}"


def window_address(run: str, rank: str, window: tuple[int, int]) -> str:
    """Return the address of a window of the timeline, ns, with a quarter of it on both sides."""
    begin, end = window
    around = (end - begin) // _MARGIN
    return path_of(run, "timeline") + query_of(rank, "", {"from": str(begin - around), "to": str(end + around)})


def query_of(rank: str, step: str = "", choices: Mapping[str, str] | None = None) -> str:
    """Return the query with its ``?``; what has its default is left out."""
    values = {"rank": rank, "step": step, **(choices or {})}
    known = {name: value for name, value in values.items() if value}
    return f"?{urlencode(known)}" if known else ""
