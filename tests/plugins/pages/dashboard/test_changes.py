"""The address follows from everything that a reader did and the server has not answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")

from dash import no_update

from drynpu_pages.dashboard import build_app
from drynpu_pages.library import Library

HERE = "/run/a/operators"


def change(number: int, cause: str, value: Any = None, path: str = HERE) -> dict[str, Any]:
    return {"number": number, "path": path, "cause": cause, "value": value}


def followed(base: Path, waiting: list[dict[str, Any]], answered: int | None, path: str, query: str) -> tuple[Any, Any]:
    """Return the query and the number that the server answers with."""
    app = build_app(Library(base))
    (name,) = (name for name in app.callback_map if name.startswith("..url.search"))
    result: tuple[Any, Any] = app.callback_map[name]["callback"].__wrapped__(waiting, answered, path, query)
    return result


def test_all_that_waits_counts_in_its_order(tmp_path: Path) -> None:
    waiting = [
        change(3, "choice:where", "host"),
        change(4, "chart", "at=9"),
        change(5, "choice:step", "4"),
        change(6, "choice:where", "aicpu"),
    ]
    assert followed(tmp_path, waiting, None, HERE, "?rank=1") == ("?rank=1&step=4&where=aicpu&at=9", 6)


def test_what_was_answered_counts_once(tmp_path: Path) -> None:
    waiting = [change(3, "choice:where", "host"), change(4, "choice:step", "4")]
    assert followed(tmp_path, waiting, 3, HERE, "?rank=1") == ("?rank=1&step=4", 4)


def test_what_was_done_on_another_page_stays_there(tmp_path: Path) -> None:
    waiting = [change(1, "choice:where", "host", "/run/a/steps"), change(2, "nothing")]
    assert followed(tmp_path, waiting, None, HERE, "?rank=1") == (no_update, 2)
