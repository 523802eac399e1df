"""Coverage is counted by room, and a room below its floor is told."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    specification = importlib.util.spec_from_file_location("coverage_floors", ROOT / "tools" / "coverage_floors.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    monkeypatch.setattr(module, "FLOORS", tmp_path / "floors.yaml")
    (tmp_path / "floors.yaml").write_text("# why\ncore/raw: 70.0\ncore/views: 50.0\n")
    return module


def report(folder: Path, raw: int, views: int) -> Path:
    def file(statements: int, covered: int) -> dict[str, dict[str, int]]:
        return {"summary": {"num_statements": statements, "covered_lines": covered}}

    files = {
        "core/drynpu/raw/_tlv.py": file(30, raw),
        "core/drynpu/raw/_prof.py": file(10, 10),
        "core/drynpu/views/pages/a.py": file(20, views),
        "core/drynpu/_say.py": file(4, 3),
        "adapters/tf/drynpu_tf/sessions/_state.py": file(5, 0),
        "adapters/acl/vendor/acl/rt.py": file(8, 8),
        "tests/core/test_x.py": file(9, 9),
    }
    path = folder / "coverage.json"
    path.write_text(json.dumps({"files": files}))
    return path


@pytest.mark.parametrize(("raw", "views", "status"), [(20, 10, 0), (17, 10, 1), (30, 9, 1)])
def test_a_room_below_its_floor_is_an_error(
    tool: ModuleType,
    raw: int,
    views: int,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["coverage_floors.py", str(report(tmp_path, raw, views))])
    assert tool.main() == status
    shown = capsys.readouterr().out
    assert ("BELOW" in shown) == bool(status)
    assert "no floor" in next(line for line in shown.splitlines() if line.startswith("acl"))
    assert "drynpu_tf" not in shown, "no line was reached: its tests did not run"
    assert "tests" not in shown


def test_floors_are_raised_and_never_lowered(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["coverage_floors.py", str(report(tmp_path, 30, 4)), "--write"])
    assert tool.main() == 0
    text = tool.FLOORS.read_text()
    assert text.startswith("# why\n")
    assert yaml.safe_load(text) == {"acl": 98.0, "core": 73.0, "core/raw": 98.0, "core/views": 50.0}


def test_the_floors_name_rooms_that_are_there(tool: ModuleType) -> None:
    floors = yaml.safe_load((ROOT / "tests" / "coverage_floors.yaml").read_text()) or {}
    files = [
        str(path.relative_to(ROOT)) for name in ("core", "adapters", "plugins") for path in (ROOT / name).rglob("*.py")
    ]
    assert set(floors) <= {tool.room_name(file) for file in files}
    assert all(0 < floor <= 100 for floor in floors.values())
