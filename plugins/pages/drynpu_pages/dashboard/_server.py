"""Serving the dashboard."""

from __future__ import annotations

import errno
import ipaddress
import logging
import secrets
import socket
import threading
from collections.abc import Callable

from attrs import frozen
from werkzeug.serving import BaseWSGIServer, make_server

from drynpu import OutputError
from drynpu_pages.dashboard._app import build_app
from drynpu_pages.figures import graph_objects
from drynpu_pages.library import Library


@frozen
class Place:
    """Where the dashboard is served."""

    host: str = "127.0.0.1"
    port: int = 8080

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def serve(library: Library, place: Place, report: Callable[[str], object]) -> None:
    """
    Serve the runs of *library* until the process is interrupted.

    *report* is given the address to open. Where others than this machine can reach it, the address has a token.

    Raises
    ------
    OutputError
        The port is in use, or may not be used.
    """
    token = "" if place.is_local else secrets.token_urlsafe(24)
    hosts = ("127.0.0.1", "localhost", "::1", place.host) if place.is_local else ()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = _bind(library, place, hosts, token)
    shown = f"[{place.host}]" if ":" in place.host else place.host
    name = socket.gethostname() if place.host in ("0.0.0.0", "::") else shown
    # Plotly takes half a second to import; the first page finds it there.
    threading.Thread(target=graph_objects, daemon=True).start()
    report(f"http://{name}:{server.port}/" + (f"?token={token}" if token else ""))
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


def _bind(library: Library, place: Place, hosts: tuple[str, ...], token: str) -> BaseWSGIServer:
    app = build_app(library, hosts=hosts, token=token)
    try:
        # werkzeug itself ends the process where the port is taken; a socket of ours tells why.
        listening = socket.create_server(
            (place.host, place.port), family=socket.AF_INET6 if ":" in place.host else socket.AF_INET
        )
    except OSError as error:
        raise OutputError(_refusal(place, error)) from error
    with listening:
        return make_server(place.host, place.port, app.server, threaded=True, fd=listening.detach())


def _refusal(place: Place, error: OSError) -> str:
    where = f"port {place.port} of {place.host}"
    if error.errno == errno.EADDRINUSE:
        return f"{where} is in use; choose another with --port (0 takes any that is free)"
    if error.errno == errno.EACCES:
        return f"{where} may not be used by this user; choose one from 1024 with --port"
    return f"{where}: {error.strerror or error}"
