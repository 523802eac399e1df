"""
Settings of the site that ``make docs`` builds with Sphinx; warnings are errors.

The source folder is the checkout, so that links between pages, to README and to examples lead where they lead there.
``docs/index.md`` is the first page. Its lists become the navigation, and so do the lists of
``docs/lists/index.md``. Pages below ``docs/generated`` are written at the start of a build.
"""
# ruff: noqa: INP001

from __future__ import annotations

import importlib.util
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)

project = "drynpu"
author = "the drynpu authors"
release = VERSION.findall((DOCS.parent / "core" / "drynpu" / "__init__.py").read_text(encoding="utf-8"))[0]
extensions = ["myst_parser"]
project_copyright = "the drynpu authors; Apache-2.0"
root_doc = "docs/index"
LISTS = "docs/lists/index"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "changes/README.md",
    "docs/**.md",
    "examples/**.md",
    "plugins/**.md",
]
exclude_patterns = ["**/.venv*/**", "**/site-packages/**", "**/demo_out/**"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"drynpu {release}"
_SIDEBAR = {"color-sidebar-link-text--top-level": "var(--color-foreground-primary)"}  # the page one is on stands out
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#b3261e", "color-brand-content": "#b3261e", **_SIDEBAR},
    "dark_css_variables": {"color-brand-primary": "#ff8a80", "color-brand-content": "#ff8a80", **_SIDEBAR},
}
html_static_path = ["static"]
html_css_files = ["site.css"]
highlight_language = "none"
suppress_warnings = [
    "misc.highlighting_failure",  # JSON and tables of vendors with comments and dots in them
    "toc.not_included",  # README and the plugins' own pages; tests/docs/test_site.py sees to all others
]


def navigation(text: str, folder: str = "docs") -> str:
    """Make the navigation from the lists of a page in *folder*: a tree for each bold line, with the links below it."""
    trees = [text.rstrip()]
    for caption, body in re.findall(r"^\*\*(.+?)\*\*\n(.*?)(?=^\*\*|\Z)", text, re.MULTILINE | re.DOTALL):
        links = re.findall(r"\[([^\]]+)\]\(([^)#]+)\.md\)", body)
        # From the folder of the checkout: a path that starts with a slash is one of the source folder.
        places = [(title, posixpath.normpath(posixpath.join(folder, path))) for title, path in links]
        entries = [f"{title[0].upper()}{title[1:]} </{place}>" for title, place in places]
        trees.append("\n".join(["```{toctree}", f":caption: {caption}", ":hidden:", "", *entries, "```"]))
    return "\n\n".join(trees) + "\n"


def titled(text: str) -> str:
    """Let links that name a file (``[start.md](start.md)``) show the title of its page: a site has no files."""
    return re.sub(r"\[[\w./-]+\.md\]\(([\w./-]+\.md(?:#[\w-]+)?)\)", r"*[](\1)*", text)


def _read(_: Any, name: str, content: list[str]) -> None:
    if name == root_doc:
        generated = "- [Commands in full](generated/cli.md), [chips](generated/chips.md), [Python](generated/api.md)\n"
        before, after = content[0].split("**Extend and change**")
        content[0] = navigation(f"{before.rstrip()}\n{generated}\n**Extend and change**{after}")
    elif name == LISTS:
        content[0] = navigation(content[0], "docs/lists")
    content[0] = titled(content[0])


def _generate(*_: Any) -> None:
    specification = importlib.util.spec_from_file_location("generate_reference", DOCS / "generate_reference.py")
    if specification is None or specification.loader is None:
        sys.exit("docs/generate_reference.py is missing")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    module.write(DOCS / "generated")


def setup(app: Any) -> None:
    """Write the generated pages before sources are looked for, and make the navigation."""
    app.connect("config-inited", _generate)
    app.connect("source-read", _read)
