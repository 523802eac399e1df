"""What the plugin takes from others, and what says that it is off."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import drynpu as core
from drynpu import PluginError
from drynpu.plugins import build_manager, hookimpl
from drynpu.views.content import Fact, Facts
from drynpu.views.page import Page
from drynpu.views.runs import View
from drynpu_blocks.block_profile import BlockProfile
from drynpu_pages.pages import PAGES, find_page
from drynpu_pages.pages.registry import added_pages

SERVED = (
    "is served by the plugin 'pages', which is off: DRYNPU_PLUGINS switches it off, or its package is not installed."
)
PLUGIN = """
from drynpu.plugins import hookimpl


def build(view):
    from drynpu.views.content import Fact, Facts

    return [Facts([Fact("Kernels of acme", str(view.rank.summary.kernel_count))])]


@hookimpl
def drynpu_pages():
    from drynpu.views.page import Page

    return [Page("acme", "Acme", "How many kernels ran.", build)]
"""


@pytest.fixture
def with_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution whose plugin adds a page."""
    folder = tmp_path / "site"
    metadata = folder / "acme-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / "acme_pages.py").write_text(PLUGIN)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[drynpu.adapters]\nacme = acme_pages\n")
    monkeypatch.syspath_prepend(str(folder))


@pytest.mark.usefixtures("with_a_page")
def test_a_page_of_another_plugin_is_shown_wherever_ours_are(
    drynpu: Callable[..., Any], recorded: Path, tmp_path: Path, view: View
) -> None:
    pytest.importorskip("plotly", reason="a report needs an extra")
    assert find_page("acme").blocks(view) == core.open_run(recorded).blocks("acme")
    assert drynpu("report", recorded, "-o", tmp_path / "report.html").code == 0
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "How many kernels ran." in text
    assert "Kernels of acme" in text


def test_pages_that_cannot_be_shown_are_refused() -> None:
    class Plugin:
        def __init__(self, page: object) -> None:
            self.page = page

        @hookimpl
        def drynpu_pages(self) -> list[object]:
            return [self.page]

    one = Page("one", "One", "The first.", lambda view: [Facts([Fact("Ranks", str(len(view.run.ranks)))])])
    assert added_pages(build_manager(entry_points=(), plugins=[("a", Plugin(one))])) == [one]
    for other, message in (
        (one, r"plugin 'b' \(passed in\): the page 'one' exists already; choose another name"),
        (PAGES[0], r"plugin 'b' \(passed in\): the page 'overview' exists already; choose another name"),
        ("two", r"plugin 'b' \(passed in\): drynpu_pages returned 'two', which is no drynpu.views.page.Page"),
    ):
        plugins = build_manager(entry_points=(), plugins=[("a", Plugin(one)), ("b", Plugin(other))])
        with pytest.raises(PluginError, match=message):
            added_pages(plugins)


def test_a_script_that_opens_a_run_names_the_plugin_that_is_off(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRYNPU_PLUGINS", "")
    with pytest.raises(PluginError) as caught:
        core.open_run(recorded)
    assert str(caught.value) == f"'drynpu.open_run' {SERVED}"


def test_a_recorded_block_shows_its_pages_where_they_are(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Recorder:
        def start(self) -> None:
            pass

        def step(self) -> None:
            pass

        def stop(self) -> None:
            recorded.rename(tmp_path / "blocks" / recorded.name)

    class Plugin:
        @hookimpl
        def drynpu_block_recorder(self) -> Recorder:
            return Recorder()

    (tmp_path / "blocks").mkdir()
    monkeypatch.setattr(
        "drynpu_blocks.block_profile.build_manager",
        lambda: build_manager(entry_points=(), plugins=[("recorder", Plugin())]),
    )
    with BlockProfile(tmp_path / "blocks") as profile:
        pass
    shown = profile._repr_html_()
    assert shown is not None
    assert "<iframe" in shown
    monkeypatch.setenv("DRYNPU_PLUGINS", "-pages")
    del profile.run  # it is opened again
    assert profile._repr_html_() is None
    assert "6 kernels" in repr(profile)


def test_terminal_verbs_are_the_same_without_the_plugin(
    drynpu: Callable[..., Any], recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = (("analyze", recorded, "--no-export"), ("advise", recorded), ("compare", recorded, recorded))
    with_plugin = [drynpu(*command) for command in commands]
    monkeypatch.setenv("DRYNPU_PLUGINS", "")
    assert [drynpu(*command) for command in commands] == with_plugin
    assert all(ended.code == 0 and ended.out for ended in with_plugin)
    assert drynpu("export", recorded, "--to", "chrome", "-o", tmp_path / "out").code == 0


def test_hooks_import_nothing_heavy() -> None:
    code = "import drynpu_pages.plugin, sys; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    heavy = ("polars", "numpy", "plotly", "dash", "rich", "drynpu.views", "drynpu.tables")
    assert [name for name in heavy if name in loaded] == []
