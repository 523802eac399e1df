"""The tests in parts: which process runs what, what a part leaves out, and what a run says at its end."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest
from attrs import evolve

ROOT = Path(__file__).parents[2]
SETTINGS = "[pytest]\nmarkers =\n    slow\n    one_of(n)\n    exhaustive\n"
MIXED = """
import pytest

def test_quick():
    pass

@pytest.mark.slow
def test_slow():
    pass

@pytest.mark.exhaustive
def test_exhaustive():
    pass

@pytest.mark.one_of(3)
@pytest.mark.parametrize("number", range(7))
def test_many(number):
    pass
"""
OF_A_MODULE = """
import pytest

pytestmark = pytest.mark.one_of(2)

def test_first():
    pass

def test_second():
    pass

@pytest.mark.skip(reason="there is no browser")
def test_third():
    pass
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the tool; its repository is a folder with a few tests."""
    specification = importlib.util.spec_from_file_location("run_tests", ROOT / "tools" / "run_tests.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "run_tests", module)
    specification.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    # The runs need no plugin of pytest that is installed here; importing all would be most of their time.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    write(tmp_path / "pytest.ini", SETTINGS)
    write(tmp_path / "tests" / "core" / "raw" / "test_raw.py", MIXED)
    write(tmp_path / "tests" / "torch" / "device" / "test_device.py", OF_A_MODULE)
    write(tmp_path / "tests" / "torch" / "native" / "below" / "test_native.py", MIXED)
    write(tmp_path / "tests" / "packages" / "test_packages.py", "def test_it():\n    assert False\n")
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    for folder in ("", "torch", "torch/native"):
        write(tmp_path / "tests" / folder / "process.yaml", f"python: {sys.prefix}\nneeds: []\n")
    write(tmp_path / "tests" / "packages" / "process.yaml", "apart: make test-packages runs them\n")
    return module


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def run(tool: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, list[str]]:
    """Return how a run ended and which tests it had."""
    shutil.rmtree(tool.ROOT / "build", ignore_errors=True)
    monkeypatch.setattr(sys, "argv", ["run_tests.py", *arguments])
    status = tool.main()
    reports = (tool.ROOT / "build" / "tests").glob("*.xml")
    cases = [case for report in reports for case in ET.parse(report).iter("testcase")]
    return status, sorted(f"{case.get('classname')}.{case.get('name')}" for case in cases)


def test_quick_and_rest_are_all(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    status, quick = run(tool, monkeypatch, "--part", "quick")
    _, rest = run(tool, monkeypatch, "--part", "rest")
    _, every = run(tool, monkeypatch, "--part", "all")
    assert status == 0
    assert set(quick) & set(rest) == set()
    assert sorted(quick + rest) == every
    assert [name.rpartition(".")[2] for name in quick if ".core." in name] == [
        "test_many[0]", "test_many[3]", "test_many[6]", "test_quick"
    ]  # fmt: skip
    assert [name for name in quick if "device" in name] == [
        f"tests.torch.device.test_device.{name}" for name in ("test_first", "test_third")
    ]
    assert not [name for name in every if "exhaustive" in name or "packages" in name]


def test_a_run_says_how_much_of_the_whole_it_was(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tool, monkeypatch, "--since", "0")
    text = capsys.readouterr().out
    *closing, skipped, times = text.splitlines()[-4:]
    assert closing[-1] == "tests: 9 of 23 (39%); rooms: 3 of 3"
    assert skipped == "1 tests were SKIPPED; pytest says why above"
    assert times.startswith("set-up: ")
    assert "; testing: 0 min " in times
    assert len(tool.CLOSING.findall(text)) == 3


def test_a_room_without_a_quick_test_is_a_failure(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tool.ROOT / "tests" / "core" / "views" / "test_views.py", OF_A_MODULE.replace("one_of(2)", "slow"))
    assert run(tool, monkeypatch)[0] == 1
    assert "rooms without a test that ran: core/views" in capsys.readouterr().out
    assert run(tool, monkeypatch, "--part", "rest")[0] == 0


@pytest.mark.parametrize("text", ["def test_it():\n    assert False\n", "import no_such_module\n"])
def test_a_failure_is_named_and_hides_no_other_process(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    write(tool.ROOT / "tests" / "torch" / "test_wrong.py", text)
    status, names = run(tool, monkeypatch, "--jobs", "1")
    assert status == 1
    assert "FAILED: tests/torch\n" in capsys.readouterr().out
    assert {name.split(".")[1] for name in names if "quick" in name} == {"core", "torch"}


def test_an_environment_that_is_not_there_is_a_failure(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tool.ROOT / "tests" / "torch" / "process.yaml", "python: .venv-none\nneeds: []\n")
    status, names = run(tool, monkeypatch)
    assert status == 1
    text = capsys.readouterr().out
    assert "/.venv-none/bin/python is not there: make says above why" in text
    assert "FAILED: tests/torch\n" in text
    assert names


def test_a_file_that_something_else_runs_is_ignored_unless_it_is_named(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tool.ROOT / "tests" / "process.yaml", f"python: {sys.prefix}\nneeds: []\nignore: [test_house.py]\n")
    write(tool.ROOT / "tests" / "test_house.py", "def test_house():\n    pass\n")
    assert not any("house" in name for name in run(tool, monkeypatch)[1])
    assert run(tool, monkeypatch, "tests/test_house.py")[1] == ["tests.test_house.test_house"]


def test_paths_run_every_test_of_what_mirrors_them(tool: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tool.ROOT / "core" / "drynpu" / "raw" / "_raw.py", "")
    status, names = run(tool, monkeypatch, "core/drynpu/raw/_raw.py", "tests/torch")
    assert status == 0
    assert len([name for name in names if ".core." in name]) == 10
    assert {name.split(".")[2] for name in names if ".torch." in name} == {"device", "native"}


@pytest.mark.parametrize(
    ("path", "mirror"),
    [
        ("core/drynpu", "tests/core"),
        ("core/drynpu/raw", "tests/core/raw"),
        ("core/drynpu/raw/_tlv.py", "tests/core/raw/test_tlv.py"),
        ("adapters/torch", "tests/torch"),
        ("adapters/torch/drynpu_torch/profiler", "tests/torch/profiler"),
        ("adapters/torch/native", "tests/torch/native"),
        ("adapters/torch/vendor/torch_npu", "tests/torch"),
        ("adapters/mindspore_like/drynpu_mindspore/capture", "tests/mindspore/capture"),
        ("docs", "tests/docs"),
        ("tests/core/raw", "tests/core/raw"),
    ],
)
def test_tests_mirror_the_tree(tool: ModuleType, path: str, mirror: str) -> None:
    assert tool.mirror_of(ROOT, path) == ROOT / mirror


ELSEWHERE = {
    "adapters/torch/drynpu_torch/extension": "torch",  # tests/torch/native
    "adapters/mindspore_like/drynpu_mindspore/inside": "mindspore",  # patching/test_releases.py
}
"""Parts of the tree -> the folder that tests them, if it has another name."""


def parts_of(root: Path) -> list[str]:
    """Return the rooms of the core, the packages of adapters, and their rooms."""
    packages = sorted(root.glob("adapters/*/*/__init__.py"))
    rooms = [*root.glob("core/drynpu/*/__init__.py"), *root.glob("adapters/*/drynpu_*/*/__init__.py")]
    folders = [init.parent for init in (*packages, *sorted(rooms)) if not init.parent.name.startswith("_")]
    return [folder.relative_to(root).as_posix() for folder in folders]


@pytest.mark.parametrize("part", parts_of(ROOT))
def test_every_part_of_the_tree_has_its_tests(tool: ModuleType, part: str) -> None:
    folder = tool.mirror_of(ROOT, part)
    assert folder.name == ELSEWHERE.get(part, Path(part).name.removeprefix("drynpu_"))
    assert list(folder.rglob("test_*.py"))


def test_every_folder_of_the_core_tests_a_room() -> None:
    rooms = {Path(part).name for part in parts_of(ROOT) if part.startswith("core/")}
    folders = {path.parent.name for path in (ROOT / "tests" / "core").glob("*/test_*.py")}
    assert folders <= rooms | {"approved"}


def test_plugins_are_mirrored(tool: ModuleType) -> None:
    write(tool.ROOT / "plugins" / "apex" / "drynpu_apex" / "fused" / "norms.py", "")
    write(tool.ROOT / "tests" / "plugins" / "apex" / "fused" / "test_norms.py", "")
    folder = tool.ROOT / "tests" / "plugins" / "apex"
    assert tool.mirror_of(tool.ROOT, "plugins/apex") == folder
    assert tool.mirror_of(tool.ROOT, "plugins/apex/drynpu_apex/fused/norms.py") == folder / "fused" / "test_norms.py"


@pytest.mark.parametrize(
    "path", ["core/drynpu/no_such_room", "adapters/no_such_adapter", "examples", "no_such_folder", "../shared"]
)
def test_a_path_without_tests_is_refused(tool: ModuleType, path: str) -> None:
    with pytest.raises(LookupError, match=f"^{re.escape(path)}: .*acl, browser, consumers, core"):
        tool.mirror_of(ROOT, path)


def test_the_processes_of_the_tree_are_known(tool: ModuleType) -> None:
    processes = tool.processes_of(ROOT / "tests")
    by_folder = {process.folder.relative_to(ROOT / "tests").as_posix(): process for process in processes}
    assert by_folder["mindspore"].python == ".venv-mindspore"
    assert by_folder["packages"].apart
    assert tool.nearest(processes, ROOT / "tests" / "core" / "raw") is by_folder["."]
    assert tool.nearest(processes, ROOT / "tests" / "torch" / "native") is by_folder["torch/native"]


def test_what_shares_the_fixtures_of_a_framework_has_a_process_with_its_environment(tool: ModuleType) -> None:
    tests = ROOT / "tests"
    processes = tool.processes_of(tests)
    wrong = []
    for path in sorted(tests.rglob("*.py")):
        for name in re.findall(r"^from tests\.(\w+)\.", path.read_text(encoding="utf-8"), re.MULTILINE):
            ours, theirs = tool.nearest(processes, path), tool.nearest(processes, tests / name)
            if theirs.folder != tests and (ours.folder == tests or ours.python != theirs.python):
                wrong.append(f"{path.relative_to(ROOT)} imports from tests/{name}: it needs a process.yaml beside it")
    assert wrong == []


def test_what_waits_starts_first_and_then_what_is_long(tool: ModuleType) -> None:
    processes = tool.processes_of(tool.ROOT / "tests")
    short = min((each for each in processes if not each.apart), key=lambda each: each.test_bytes)
    waiting = evolve(short, waits="for pages")
    others = [each for each in processes if each is not short]
    first, *chosen = tool.selections([*others, waiting], tool.ROOT, [])
    assert first == waiting
    assert [each.test_bytes for each in chosen] == sorted((each.test_bytes for each in chosen), reverse=True)
    assert len(chosen) > 1
