"""The cell magic, in a session of IPython as a notebook's kernel has it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SESSION = Path(__file__).with_name("cell_magic_session.py")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("session")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_"))}
    done = subprocess.run(
        [sys.executable, str(SESSION)],
        cwd=folder,
        env={**kept, "IPYTHONDIR": str(folder / "ipython")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return folder, done.stdout


def section(text: str, head: str) -> str:
    return text.split(f"--- {head}\n")[1].split("\n--- ")[0]


def test_a_cell_is_recorded_in_the_variables_of_the_notebook(session: tuple[Path, str]) -> None:
    folder, text = session
    assert "--- all is well" in text
    assert len(list((folder / "kept").glob("*_ascend_pt"))) == 2
    shown = section(text, "%%npu_profile fit -o kept")
    assert "(modelled)" in shown
    assert "MatMulV2 x6" in shown
    assert "'npu'" in shown


def test_quiet_shows_the_value_of_the_cell_alone(session: tuple[Path, str]) -> None:
    shown = section(session[1], "%%npu_profile fit -o kept -q")
    assert "modelled" not in shown
    assert "device='npu:0'" in shown


def test_an_error_of_the_cell_is_shown_with_its_line_and_what_ran_before_it(session: tuple[Path, str]) -> None:
    shown = section(session[1], "%%npu_profile")
    assert "MatMulV2 x1" in shown
    assert 'raise ValueError("wrong batch")' in shown
    assert "ValueError: wrong batch" in shown


def test_wrong_arguments_are_told_in_one_line(session: tuple[Path, str]) -> None:
    shown = section(session[1], "%%npu_profile --framework jax")
    assert "UsageError: %%npu_profile: no plugin records blocks of 'jax'; installed: " in shown
    assert "Traceback" not in shown
    assert "UsageError: unrecognized arguments: --speed" in session[1]
