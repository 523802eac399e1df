"""Scripts in processes without MindSpore, whether it is installed or not."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def without_mindspore(scripts: Any) -> Callable[..., Any]:
    """Run a script where no MindSpore is found; plainly, or under ``drynpu run`` with ``under=``."""
    hidden = str(Path(__file__).with_name("without_mindspore"))
    path = os.pathsep.join((hidden, scripts.environment["PYTHONPATH"]))

    def run(script: str | Path, *arguments: str, under: tuple[str, ...] = (), **options: Any) -> Any:
        return scripts(script, *arguments, program=(*scripts.python, *under), **options)

    return functools.partial(run, environment={"PYTHONPATH": path})
