"""The addresses under which a browser follows and ends the reading of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")

from drynpu import CommandError, at_stage
from drynpu_pages.dashboard import build_app
from drynpu_pages.library import Library


def test_a_page_asks_how_far_it_is_and_ends_it(tmp_path: Path) -> None:
    library = Library(tmp_path)
    browser = build_app(library).server.test_client()
    with library.readings.of_run("a/b"):
        at_stage("Reading tasks")
        assert browser.get("/reading/a/b", headers={"Host": "localhost"}).json == {"text": "Reading tasks, 0 s"}
        assert browser.post("/reading/a/b", headers={"Host": "localhost"}).status_code == 403
        at_stage("Summing up")
        ours = {"Host": "localhost", "X-Drynpu": "cancel"}
        assert browser.post("/reading/a/b", headers=ours).status_code == 200
        with pytest.raises(CommandError, match="cancelled"):
            at_stage("Arranging the timeline")
    assert browser.get("/reading/a/b", headers={"Host": "localhost"}).json == {"text": ""}
