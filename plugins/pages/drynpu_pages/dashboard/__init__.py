"""The dashboard: the pages of :mod:`drynpu_pages.pages` in a browser, served on this machine alone."""

from __future__ import annotations

from drynpu_pages.dashboard._app import build_app
from drynpu_pages.dashboard._server import Place, serve

__all__ = ["Place", "build_app", "serve"]
