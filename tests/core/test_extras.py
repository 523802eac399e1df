from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from drynpu import require


def test_an_installed_module_is_returned() -> None:
    assert require("json", "torch") is json


def test_a_missing_module_names_its_extra_in_one_line() -> None:
    with pytest.raises(ImportError) as caught:
        require("no_such_framework", "torch")
    assert str(caught.value) == "no_such_framework is not installed; install it with: pip install 'drynpu[torch]'"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_framework_that_breaks_on_import_keeps_its_own_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_a_framework.py").write_text("import a_library_it_lacks\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="a_library_it_lacks"):
        require("half_a_framework", "torch")


def test_importing_the_core_imports_no_room_and_no_framework() -> None:
    code = "import sys, drynpu; print(*sorted(name for name in sys.modules if name.startswith('drynpu.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = [name.removeprefix("drynpu.") for name in done.stdout.split()]
    modules = (
        "collections",
        "errors",
        "extras",
        "guard",
        "lazy",
        "modules",
        "open",
        "plugin_choice",
        "printable",
        "progress",
        "say",
        "toolkit",
    )
    assert names == [f"_{name}" for name in modules]
