"""The addresses under which a browser asks how far reading is, and ends it; ``reading.js`` does both."""

from __future__ import annotations

from flask import Flask, Response, abort, jsonify, request

from drynpu_pages.library import Library

_SENT_BY_US = "X-Drynpu"
"""Header that a page of another site cannot send."""


def serve_readings(server: Flask, library: Library) -> None:
    """Say how far the reading of a run is (GET), or end it (POST)."""

    @server.get("/reading/<path:name>")
    def reading(name: str) -> Response:
        return jsonify({"text": library.readings.text(name)})

    @server.post("/reading/<path:name>")
    def cancel(name: str) -> Response:
        if _SENT_BY_US not in request.headers:
            abort(403, "only pages of this dashboard end what it reads")
        library.readings.cancel(name)
        return jsonify({})
