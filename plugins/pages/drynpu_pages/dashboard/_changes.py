"""What readers change in the address: the next address follows from the last one and from what was done since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen
from dash import ALL, ClientsideFunction, Dash, Input, Output, State, dcc, no_update

from drynpu.views.content import PLACE
from drynpu_pages.dashboard._address import query_of, read_address

_IN_BROWSER = "changes"


@frozen
class Change:
    """
    One thing that a reader did.

    Parameters
    ----------
    number:
        Counts the changes of one browser tab, from 1.
    path:
        Of the page where it was done.
    cause:
        ``choice:<name>`` or ``chart``.
    """

    number: int
    path: str
    cause: str
    value: Any


def change_stores() -> list[Any]:
    """Return what holds the changes of a tab that may not have been answered, and the number of the last answered."""
    return [dcc.Store(id="changes"), dcc.Store(id="answered")]


def connect_changes(app: Dash) -> None:
    """Let the address follow what readers do; ``changes.js`` collects it."""

    @app.callback(
        Output("url", "search"),
        Output("answered", "data"),
        Input("changes", "data"),
        State("answered", "data"),
        State("url", "pathname"),
        State("url", "search"),
        prevent_initial_call=True,
    )
    def follow(
        waiting: Sequence[Mapping[str, Any]] | None, answered: int | None, path: str | None, query: str | None
    ) -> Any:
        changes = [Change(**each) for each in waiting or ()]
        if not changes:
            return no_update, no_update
        wanted = query
        for change in changes:
            if change.number > (answered or 0) and change.path == path:
                wanted = changed_query(wanted, change)
        return no_update if wanted == query else wanted, changes[-1].number

    def in_browser(name: str, *arguments: Input | State) -> None:
        app.clientside_callback(ClientsideFunction(_IN_BROWSER, name), *arguments, prevent_initial_call=True)

    in_browser("answered", Input("answered", "data"))
    in_browser("chart", Input({"type": "chart", "name": ALL}, "clickData"))


def changed_query(query: str | None, change: Change) -> str | None:
    """Return the query after a change; the same if it means nothing."""
    kind, _, name = change.cause.partition(":")
    if kind == "choice":
        return chosen_query(name, str(change.value), query)
    if kind == "chart":
        return clicked_query(str(change.value), query)
    return query


def chosen_query(name: str, value: str, query: str | None) -> str:
    """
    Return the query after a choice; what has its default, ``""``, does not stand in it.

    Another rank is looked at in the same window; another step has a window of its own, and its own events.
    """
    now = read_address(None, query)
    leave = ("event", "from", "to") if name == "step" else ("event",)
    look = {key: kept for key, kept in now.look.items() if key not in leave}
    chosen = {"rank": now.rank, "step": now.step, **now.choices, name: value}
    return query_of(chosen.pop("rank"), chosen.pop("step"), {**chosen, **look})


def clicked_query(text: str, query: str | None) -> str | None:
    """Return the query after a click on a point with a text: ``at=<Unix ns>`` chooses a place, others nothing."""
    name, equals, value = text.partition("=")
    if not equals or name != PLACE:
        return query
    now = read_address(None, query)
    return query_of(now.rank, now.step, {**now.choices, **now.look, PLACE: value})
