"""Opening a run from a script or a notebook, without loading any room before."""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any


def open_run(path: str | PathLike[str]) -> Any:
    """
    Open a run: a result directory, a folder with the ranks of one run, or a single result file.

    Returns
    -------
    drynpu_pages.opened.OpenedRun
        Its tables, figures and hints. Profiles are read when something of them is first asked for.

    Raises
    ------
    OutputError
        There is no run at *path*, or more than one; the message names them.
    PluginError
        The plugin ``pages``, which opens runs, is off.
    """
    # By name: importing drynpu loads no room.
    return import_module("drynpu.plugins").build_manager().open_run(Path(path))


def load_ipython_extension(shell: object) -> None:
    """
    Add the magics of the plugins to a notebook, ``%%npu_profile`` among them: what ``%load_ext drynpu`` calls.

    Raises
    ------
    PluginError
        No plugin has any: the plugin ``blocks`` is off.
    """
    import_module("drynpu.plugins").build_manager().notebook_opened(shell)
