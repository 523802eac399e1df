"""The folder that stands for an installed CANN toolkit, for programs that look where one is and which release."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).with_name("_cann")
TOOLKIT_VARIABLES: Final = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
"""The variables with which the toolkit's ``set_env.sh`` says where it is."""


def toolkit_folder() -> Path:
    """Return the folder; it holds the toolkit's note of its release and nothing else."""
    return _FOLDER


def cann_release() -> str:
    """Return the release of CANN that is simulated, e.g. ``9.0.0``."""
    from drynpu.host import machine  # importing drynpu alone imports no more than that needs

    note = _FOLDER / f"{machine()}-linux" / "ascend_toolkit_install.info"
    if not note.is_file():  # another kind of processor
        note = min(_FOLDER.glob("*/ascend_toolkit_install.info"))
    fields = dict(line.split("=", 1) for line in note.read_text(encoding="utf-8").splitlines())
    return fields["version"]
