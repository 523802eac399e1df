"""A browser, a dashboard, and runs of every framework for it to show."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from drynpu.views.runs import find_runs
from drynpu_pages.report import find_browser

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
GENUINE = Path(os.environ.get("GENUINE_PROFILES", ROOT.parent / "shared" / "data")) / "genuine"
CHROMIUM = find_browser()
WAIT_MS = 90_000
"""For a state of a page. What is expected comes; when, depends on what else the machine does."""
QUIET = {"TF_ENABLE_ONEDNN_OPTS": "0", "KINETO_LOG_LEVEL": "99", "TORCH_CPP_LOG_LEVEL": "ERROR", "DRYNPU_QUIET": "1"}


FEW_PAGES = ("overview", "operators")
"""What is looked at of every kind of run, and of the first in `make test`; of the others all pages take ten minutes."""


def mark_of(parameters: Mapping[str, Any]) -> str | None:
    """Return the mark of a test with these parameters."""
    few = "page" not in parameters or parameters["page"].name in FEW_PAGES
    first = parameters.get("run", "torch") == "torch"
    if parameters.get("scheme", "light") != "light" or not (few or first):
        return "exhaustive"
    return None if few and first else "slow"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if Path(__file__).parent in item.path.parents]  # pytest passes all
    for item in here:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and (mark := mark_of(item.callspec.params)):
            item.add_marker(mark)
    if CHROMIUM is None:
        for item in here:
            item.add_marker(pytest.mark.skip(reason="no browser: install chromium"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if CHROMIUM is None:
        terminalreporter.section("NO PAGE WAS LOOKED AT", "!")
        terminalreporter.line("There is no chromium; apt-get install chromium")


def record(folder: Path, script: str, *arguments: str, python: Path = Path(sys.executable), rank: str = "") -> None:
    """Run an example as a user would, in *folder*."""
    folder.mkdir(parents=True)
    environment = {**os.environ, **QUIET, **({"RANK": rank} if rank else {})}
    command = [str(python), "-m", "drynpu", "run", str(EXAMPLES / script), *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


class Runs(Mapping[str, Path]):
    """Result directories by kind, all below one folder; each is made when it is first looked at."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self._paths: dict[str, Path] = {}
        self._makers: dict[str, Callable[[], object]] = {
            "torch": partial(record, base / "torch", "torch/train_gpt.py", rank="0"),
            "tf": partial(record, base / "tf", "tf/train_session.py"),
            "acl": partial(record, base / "acl", "acl/profile_inference.py"),
        }
        mindspore = ROOT / ".venv-mindspore" / "bin" / "python"
        if mindspore.exists():
            self._makers["mindspore"] = partial(
                record, base / "mindspore", "mindspore/train_profiler.py", python=mindspore
            )
        for name in ("torch_text_level1", "torch_db_level1"):
            if (GENUINE / name).is_dir():
                self._makers[name] = partial(shutil.copytree, GENUINE / name, base / name)

    def __getitem__(self, kind: str) -> Path:
        if kind not in self._paths:
            self._makers[kind]()
            self._paths[kind] = find_runs(self.base / kind)[-1].folders[0].path
        return self._paths[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("runs"))


@frozen
class Dashboard:
    """A server and the folder whose runs it shows."""

    address: str
    base: Path
    process: subprocess.Popen[str]

    def page(self, run: Path, name: str, query: str = "") -> str:
        return f"{self.address}run/{run.relative_to(self.base).as_posix()}/{name}{query}"


@contextlib.contextmanager
def serve(base: Path, port: int = 0) -> Iterator[Dashboard]:
    command = [sys.executable, "-m", "drynpu", "dashboard", str(base), "--port", str(port)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found
            yield Dashboard(found.group(), base, process)
        finally:
            process.kill()


@pytest.fixture(scope="session")
def base(runs: Runs) -> Path:
    return runs.base


@pytest.fixture(scope="session")
def dashboard(base: Path) -> Iterator[Dashboard]:
    with serve(base) as served:
        yield served


@pytest.fixture(scope="session")
def serving() -> Any:
    """The context manager that serves a folder, for tests that want a server of their own."""
    return serve


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    """A page of the browser; console errors and requests to anywhere else fail the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(f"console: {said.text}") if _is_wrong(said) else None)
    page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
    page.on("request", lambda sent: wrong.append(f"foreign: {sent.url}") if not _own(sent.url) else None)
    page.on("response", lambda got: wrong.append(f"{got.status}: {got.url}") if got.status >= 400 else None)
    yield page
    context.close()
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def ready() -> Callable[[Any], None]:
    """The function that waits until a page is there, with the rows of its tables."""
    return _wait_for_page


def _wait_for_page(tab: Any) -> None:
    tab.wait_for_selector("main h1")
    tab.wait_for_function("!document.querySelector('[data-dash-is-loading=true]')")
    tab.wait_for_function(_TIMELINE_IS_THERE)
    tab.wait_for_function(_FIGURES_ARE_THERE)
    tab.wait_for_function(_ROWS_ARE_THERE)


_TIMELINE_IS_THERE = """() => {
  const status = document.getElementById("timeline-status");
  return !status || /events/.test(status.textContent) && !/Loading/.test(status.textContent);
}"""
_FIGURES_ARE_THERE = """() => [...document.querySelectorAll("main figure")].every((place) =>
  place.querySelector(".main-svg"))"""
_ROWS_ARE_THERE = """() => [...document.querySelectorAll("main .rows")].every((place) => {
  const grid = place.querySelector(".grid");
  const api = grid && window.dash_ag_grid && dash_ag_grid.getApi(grid.id);
  if (!api || grid.querySelector(".ag-delay-render")) { return false; }
  const blocks = Object.values(api.getCacheBlockState());
  const rows = [...grid.querySelectorAll(".ag-center-cols-container .ag-row")];
  return blocks.length > 0 && blocks.every((block) => block.pageStatus === "loaded")
    && (rows.length > 0 || api.getDisplayedRowCount() === 0) && rows.every((row) => row.textContent.trim());
})"""
"""The browser fetches the scripts of figures and grids when a page has some; until then their places are empty. A grid
draws empty rows until the server has answered, and cells some frames after that. It hides them, with its headings,
until it knows how wide its columns are."""


def _is_wrong(said: Any) -> bool:
    """Whether the console has an error, or a warning of a page of ours: Perfetto's engine warns of its own calls."""
    ours = "/perfetto/v" not in str(said.location.get("url"))
    return bool(said.type == "error" or (said.type == "warning" and ours))


def _own(address: str) -> bool:
    return address.startswith(("http://127.0.0.1:", "data:", "blob:", "file:"))
