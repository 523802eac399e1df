"""Who may ask the dashboard, and what its pages may load: nothing from anywhere else."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from urllib.parse import urlencode

from flask import Flask, Response, abort, redirect, request

_COOKIE = "drynpu-token"
_POLICY = (
    "default-src 'self'; "
    # Dash starts with a script in the page, and its grid compiles expressions.
    "script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)


def protect(server: Flask, hosts: Sequence[str], token: str) -> None:
    """
    Refuse requests under other names than *hosts*, or without *token* if there is one, and let pages load nothing else.

    A name that is not ours means that some other site has led the browser here (DNS rebinding). The token comes with
    the first address (``?token=``) and stays in a cookie, so that it does not stand in later addresses.
    """

    @server.before_request
    def check() -> Response | None:
        if hosts and request.host.rsplit(":", 1)[0].strip("[]") not in hosts:
            abort(403, f"drynpu dashboard: not served under the name {request.host!r}")
        return _check_token(token) if token else None

    @server.after_request
    def restrict(response: Response) -> Response:
        # The viewer of the timeline has its own: it is a page in a page.
        response.headers.setdefault("Content-Security-Policy", _POLICY)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response


def _check_token(token: str) -> Response | None:
    sent_token = request.args.get("token")
    if sent_token is not None and hmac.compare_digest(sent_token.encode(), token.encode()):
        left = {name: value for name, value in request.args.items() if name != "token"}
        answer = redirect(request.path + (f"?{urlencode(left)}" if left else ""))
        answer.set_cookie(_COOKIE, token, httponly=True, samesite="Strict")
        return answer  # type: ignore[return-value]
    if not hmac.compare_digest(request.cookies.get(_COOKIE, "").encode(), token.encode()):
        abort(401, "drynpu dashboard: open the address with the token that the command printed")
    return None
