"""The sample of docs/check.md is what a check prints."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("torch", reason="the sample is a script of PyTorch")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    specification = importlib.util.spec_from_file_location("check_sample", ROOT / "tools" / "check_sample.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_sample_is_what_a_check_prints(tool: ModuleType, tmp_path: Path) -> None:
    sample = tool.page_excerpt(PAGE)
    assert tool.words(tool.excerpt(tool.run_check(tmp_path))) == tool.words(sample)
    assert max(map(len, sample.splitlines())) <= 96
    # It names lines of the script.
    source = tool.SCRIPT.splitlines()
    for line, text in re.findall(r"train\.py:(\d+)\n +(\S.*)", sample):
        assert source[int(line) - 1].strip() == text


@pytest.mark.parametrize("old", ["", "never called"])
def test_an_old_sample_is_noticed_and_written(
    tool: ModuleType, old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, now = tmp_path / "check.md", tool.page_excerpt(PAGE)
    page.write_text(PAGE.replace(now, now.replace(old, "called twice") if old else now), encoding="utf-8")
    monkeypatch.setattr(tool, "PAGE", page)
    monkeypatch.setattr(tool, "run_check", lambda folder: now)
    monkeypatch.setattr(tool, "excerpt", lambda stdout: stdout)
    monkeypatch.setattr(sys, "argv", ["check_sample.py", "--check"])
    assert tool.main() == bool(old)
    monkeypatch.setattr(sys, "argv", ["check_sample.py"])
    assert tool.main() == 0
    assert page.read_text(encoding="utf-8") == PAGE
