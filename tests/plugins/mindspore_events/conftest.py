"""What scripts of the plugin are run with: the same as MindSpore's."""

from __future__ import annotations

from tests.mindspore.conftest import python_path, scripts, warm

__all__ = ["python_path", "scripts", "warm"]
