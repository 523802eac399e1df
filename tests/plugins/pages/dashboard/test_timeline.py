"""The events of a run for the viewer, and the viewer itself, from this server alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")

from flask.testing import FlaskClient

from drynpu.views.content import TimelineChart, find_block
from drynpu.views.runs import View
from drynpu_pages.dashboard import _timeline, build_app
from drynpu_pages.library import Library
from drynpu_pages.pages import find_page
from drynpu_pages.perfetto import perfetto_trace, window_of
from drynpu_pages.tracks import timeline_index


@pytest.fixture
def client(recorded: Path) -> FlaskClient:
    client: FlaskClient = build_app(Library(recorded.parent), hosts=("localhost",)).server.test_client()
    return client


def test_the_events_are_the_trace_and_its_window(client: FlaskClient, recorded: Path, view: View) -> None:
    answer = client.get(f"/events/{recorded.name}")
    index = timeline_index(view.rank.profile)
    assert answer.data == b"".join(perfetto_trace({"rank 0": view.rank.profile}, window_of([index])))
    said = json.loads(answer.headers["X-Timeline"])
    assert (said["events"], said["all"], said["busy"], said["shown"]) == (index.events, index.events, [], None)
    assert said["whole"] == [str(index.start_ns), str(index.end_ns)]
    step = json.loads(client.get(f"/events/{recorded.name}?step=1").headers["X-Timeline"])
    assert step["shown"] == [str(time) for time in index.steps["1"]]


def test_a_long_run_comes_in_parts_with_a_strip_of_the_whole(
    client: FlaskClient, recorded: Path, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = timeline_index(view.rank.profile)
    few = index.events // 2
    monkeypatch.setattr(_timeline, "window_of", lambda indexes, around: window_of(indexes, around, most=few))
    said = json.loads(client.get(f"/events/{recorded.name}").headers["X-Timeline"])
    assert 0 < said["events"] <= few < said["all"] == index.events
    assert max(said["busy"]) <= 1.0
    assert sum(said["busy"]) > 0


def test_the_viewer_may_ask_this_server_alone(client: FlaskClient) -> None:
    for path in ("/perfetto/", "/perfetto/frame.js", "/"):
        with client.get(path) as answer:
            policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "http" not in policy
    assert "frame-ancestors 'self'" in client.get("/perfetto/").headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path", ["/events/no_such", "/events/../etc", "/perfetto/../../etc/passwd", "/perfetto/nothing.js"]
)
def test_nothing_else_is_served(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404 or answer.data.startswith(b"<!DOCTYPE html>")


def test_without_the_viewer_the_page_says_what_to_install(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_timeline, "viewer_folder", lambda: None)
    block = find_block(find_page("timeline").build(view), "timeline", TimelineChart)
    said = str(_timeline.timeline_card(block, view))
    assert "pip install 'drynpu[dashboard]'" in said
    assert "timeline-viewer" not in said
