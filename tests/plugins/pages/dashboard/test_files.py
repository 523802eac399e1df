"""The server hands over timelines of runs in its folder, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")

from flask.testing import FlaskClient

from drynpu_pages.dashboard import build_app
from drynpu_pages.library import Library

OUTPUT = "ASCEND_PROFILER_OUTPUT"


@pytest.fixture
def client(recorded: Path) -> FlaskClient:
    client: FlaskClient = build_app(Library(recorded.parent), hosts=("localhost",)).server.test_client()
    return client


def test_the_timeline_of_a_rank_is_the_file(client: FlaskClient, recorded: Path) -> None:
    with client.get(f"/trace/0/0/{recorded.name}") as answer:
        assert answer.status_code == 200
        assert answer.data == (recorded / OUTPUT / "trace_view.json").read_bytes()
        assert answer.headers["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize(
    "path",
    [
        "/trace/0/1/{run}",
        "/trace/9/0/{run}",
        "/trace/single/0/{run}",
        "/trace/0/0/../{run}",
        "/trace/0/0/..%2f{run}/profiler_info.json",
        "/trace/0/0//etc",
        "/trace/0/-1/{run}",
    ],
)
def test_nothing_else_is_handed_over(client: FlaskClient, recorded: Path, path: str) -> None:
    answer = client.get(path.format(run=recorded.name))
    # What is no address of ours shows the page that says so.
    assert "Content-Disposition" not in answer.headers
    assert answer.status_code == 404 or answer.data.startswith(b"<!DOCTYPE html>")


def test_other_sites_get_nothing(client: FlaskClient, recorded: Path) -> None:
    assert client.get(f"/trace/0/0/{recorded.name}", headers={"Host": "evil.example"}).status_code == 403
