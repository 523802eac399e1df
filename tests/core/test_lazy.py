"""Rooms that import a module when a name of it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = '''"""A room."""
from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from lazily._first import one
    from lazily._second import (
        three,
        two,
    )
    from lazily import _second
else:
    __getattr__ = lazy_room(__name__)

__all__ = ["one", "three", "two"]
'''


@pytest.fixture
def room(tmp_path: Path) -> Path:
    folder = tmp_path / "lazily"
    folder.mkdir()
    (folder / "__init__.py").write_text(SOURCE)
    (folder / "_first.py").write_text("one = 1\n")
    (folder / "_second.py").write_text("two, three = 2, 3\n")
    return tmp_path


def printed(room: Path, code: str) -> str:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(room)!r})\n{code}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_a_name_imports_its_module_alone(room: Path) -> None:
    code = "from lazily import two; print(two, sorted(m for m in sys.modules if m.startswith('lazily')))"
    assert printed(room, code) == "2 ['lazily', 'lazily._second']"


def test_star_gives_all_names(room: Path) -> None:
    assert printed(room, "from lazily import *; print(one, two, three)") == "1 2 3"


def test_other_names_are_missing_as_in_every_module(room: Path) -> None:
    code = "import lazily\ntry:\n    lazily.four\nexcept AttributeError as error:\n    print(error)"
    assert printed(room, code) == "module 'lazily' has no attribute 'four'"
    assert (
        printed(room, "import lazily; print(hasattr(lazily, '__path__'), hasattr(lazily, '__four__'))") == "True False"
    )


def test_a_module_of_the_room_is_a_name_like_others(room: Path) -> None:
    assert printed(room, "import lazily; print(lazily._second.two)") == "2"
