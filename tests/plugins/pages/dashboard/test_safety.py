"""Who may ask the dashboard, and what its pages may load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")

from drynpu_pages.dashboard import build_app
from drynpu_pages.dashboard._server import Place
from drynpu_pages.library import Library


def client(base: Path, *, hosts: tuple[str, ...] = ("127.0.0.1", "localhost"), token: str = "") -> Any:
    return build_app(Library(base), hosts=hosts, token=token).server.test_client()


def test_other_names_of_this_machine_are_refused(tmp_path: Path) -> None:
    browser = client(tmp_path)
    assert browser.get("/", headers={"Host": "127.0.0.1:8080"}).status_code == 200
    assert browser.get("/", headers={"Host": "evil.example:8080"}).status_code == 403
    assert browser.get("/_dash-layout", headers={"Host": "evil.example"}).status_code == 403


def test_pages_may_load_from_here_alone(tmp_path: Path) -> None:
    policy = client(tmp_path).get("/", headers={"Host": "localhost"}).headers["Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["connect-src"] == "'self'"
    assert "http" not in policy


def test_a_token_is_asked_for_once_and_then_kept_in_a_cookie(tmp_path: Path) -> None:
    browser = client(tmp_path, hosts=(), token="s3cret")
    assert browser.get("/").status_code == 401
    assert browser.get("/_dash-layout").status_code == 401
    assert browser.get("/?token=wrong").status_code == 401
    led = browser.get("/?token=s3cret&rank=1")
    assert (led.status_code, led.headers["Location"]) == (302, "/?rank=1")
    assert "HttpOnly" in led.headers["Set-Cookie"]
    assert "SameSite=Strict" in led.headers["Set-Cookie"]
    assert browser.get("/").status_code == 200


@pytest.mark.parametrize("path", ["/assets/../_app.py", "/assets/..%2f_app.py", "/assets/%2e%2e/_app.py"])
def test_files_beside_the_assets_are_not_served(tmp_path: Path, path: str) -> None:
    answer = client(tmp_path).get(path, headers={"Host": "localhost"})
    assert b"build_app" not in answer.data


def test_places_of_this_machine_alone() -> None:
    assert [Place(host).is_local for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [Place(host).is_local for host in ("0.0.0.0", "::", "192.168.0.7", "node1")] == [False] * 4
