"""One page of a run as a picture, drawn by a browser that is installed here."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from drynpu import OutputError, require
from drynpu.host import is_superuser
from drynpu.views.page import Page
from drynpu.views.runs import Rank, Run
from drynpu.writers.files import new_file
from drynpu_pages.report._report import page_html

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
"""Commands of browsers that draw without a screen, the first that is found is taken."""
_WIDTH_PX, _TALL_PX = 1280, 2000
WAIT_MS = 20_000
"""Time of the page's own clock in which its figures are drawn; it passes as fast as the work allows."""
_PATIENCE_S = 180
_QUIET = (
    "--headless=new", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
)  # fmt: skip
_HEIGHT = re.compile(r'data-height="(\d+)"')


def find_browser() -> str | None:
    """Return the browser that draws pictures; ``None`` where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def write_picture(run: Run, rank: Rank, page: Page, file: Path, *, dark: bool = False) -> None:
    """
    Write one page of a rank as a PNG, as long as the page is.

    Raises
    ------
    DrynpuError
        The profile cannot be read, there is no browser, it draws nothing, or the file cannot be written.
    """
    require("plotly", "dashboard")
    from plotly.offline import get_plotlyjs

    with tempfile.TemporaryDirectory() as scratch:
        document, picture = Path(scratch, "page.html"), Path(scratch, "page.png")
        theme = "dark" if dark else "light"
        document.write_text(page_html(run, rank, page, get_plotlyjs(), theme), encoding="utf-8")
        said = draw(document, f"--window-size={_WIDTH_PX},{_TALL_PX}", "--dump-dom")
        match = _HEIGHT.search(said)
        height = int(match.group(1)) if match else _TALL_PX
        waited = f"--virtual-time-budget={WAIT_MS}"
        draw(document, f"--window-size={_WIDTH_PX},{height}", waited, f"--screenshot={picture}")
        if not picture.is_file():
            raise OutputError(f"{find_browser()} drew no picture of {page.name}")
        with new_file(file) as out:
            out.write(picture.read_bytes())


def _as_root() -> Sequence[str]:
    """Return what a browser asks of the user root, e.g. in containers, to start at all."""
    return ("--no-sandbox",) if is_superuser() else ()


def draw(document: Path, *options: str) -> str:
    """
    Let the browser open a document, with a profile beside it, and return what it prints.

    Raises
    ------
    OutputError
        There is no browser, or it fails.
    """
    browser = find_browser()
    if browser is None:
        raise OutputError(f"a picture needs a browser that is installed here: {', '.join(BROWSERS)}")
    place = f"--user-data-dir={document.parent}/browser"
    command = [browser, *_QUIET, place, *_as_root(), *options, document.as_uri()]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE_S, check=True, encoding="utf-8")
    except (OSError, subprocess.SubprocessError) as error:
        raise OutputError(f"{browser} did not draw the page: {error}") from error
    return done.stdout
