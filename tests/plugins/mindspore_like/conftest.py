"""What scripts of the plugin are run with: the same as MindSpore's, also where no MindSpore is found."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.mindspore.conftest import python_path, scripts, warm

__all__ = ["python_path", "scripts", "warm", "without_mindspore"]


@pytest.fixture(scope="session")
def without_mindspore(scripts: Any) -> Callable[..., Any]:
    """Run a script where no MindSpore is found; plainly, or under ``drynpu run`` with ``under=``."""
    hidden = str(Path(__file__).with_name("without_mindspore"))
    path = os.pathsep.join((hidden, scripts.environment["PYTHONPATH"]))

    def run(
        script: str | Path,
        *arguments: str,
        under: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Any:
        variables = {"PYTHONPATH": path, **(environment or {})}
        return scripts(script, *arguments, program=(*scripts.python, *under), environment=variables, **options)

    return run
