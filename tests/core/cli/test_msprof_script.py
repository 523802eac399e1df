"""The script that ``drynpu doctor --install-msprof`` writes; tests of the plugin ``msprof`` run it."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_script_that_can_run_is_written_again_and_again(drynpu: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    ended = drynpu("doctor", "--install-msprof", str(folder))
    assert (ended.code, ended.err) == (0, "")
    assert f"{folder} is not first on PATH" in ended.out
    script = folder / "msprof"
    assert stat.S_IMODE(script.stat().st_mode) & 0o111 == 0o111
    assert sys.executable in script.read_text()
    assert drynpu("doctor", "--install-msprof", str(folder)).code == 0


def test_a_foreign_msprof_is_left_alone_without_force(drynpu: Callable[..., Any], tmp_path: Path) -> None:
    foreign = tmp_path / "msprof"
    foreign.write_text("#!/bin/sh\n")
    ended = drynpu("doctor", "--install-msprof", str(tmp_path))
    assert ended.code == 1
    assert f"{foreign} is there and was not written by drynpu; --force replaces it." in ended.err
    assert foreign.read_text() == "#!/bin/sh\n"
    assert drynpu("doctor", "--install-msprof", str(tmp_path), "--force").code == 0
    assert "drynpu" in foreign.read_text()
