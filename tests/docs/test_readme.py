"""README fits one screen, shows what the demo says, and leads to each task in one click."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    specification = importlib.util.spec_from_file_location("demo_excerpt", ROOT / "tools" / "demo_excerpt.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 80


@pytest.mark.parametrize("change", ["", "Kernel times"])
def test_the_tool_checks_and_writes(
    tool: ModuleType, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page, now = tmp_path / "README.md", tool.page_excerpt(README)
    page.write_text(README.replace(now, now.replace(change, "Times") if change else now), encoding="utf-8")
    monkeypatch.setattr(tool, "PAGE", page)
    monkeypatch.setattr(tool, "run_demo", lambda folder: now)
    monkeypatch.setattr(tool, "excerpt", lambda stdout: stdout)
    monkeypatch.setattr(sys, "argv", ["demo_excerpt.py", "--check"])
    assert tool.main() == bool(change)
    assert ("is now" in capsys.readouterr().err) == bool(change)
    monkeypatch.setattr(sys, "argv", ["demo_excerpt.py"])
    assert tool.main() == 0
    assert page.read_text(encoding="utf-8") == README


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("loss 6.2376", "loss 6.9376", "loss 6.9376"),
        ("│ 3    │", "│ three │", "three"),
        ("Kernel times are modelled, not measured.", "Kernel times are measured.", "measured"),
        ("  ...\n", "", "lines are now"),
    ],
)
def test_an_old_excerpt_is_noticed(tool: ModuleType, old: str, new: str, said: str) -> None:
    now = tool.page_excerpt(README)
    assert old in now
    assert tool.differences(now, now) == []
    assert any(said in line for line in tool.differences(now.replace(old, new), now))


def test_other_digits_of_the_model_are_no_difference(tool: ModuleType) -> None:
    now = tool.page_excerpt(README)
    assert tool.differences(re.sub(r"19\.752", "21.004", now), now) == []


def test_the_tasks_are_one_click_away() -> None:
    tasks = sorted(path.name for path in (ROOT / "docs" / "howto").glob("*.md"))
    assert tasks == ["bound.md", "chips.md", "deliverable.md", "genuine.md", "profile.md", "serve.md"]
    assert all(f"(docs/howto/{name})" in README for name in tasks)
