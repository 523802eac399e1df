"""The tool that changes facts and logic: what it changes, and that it tells caught mutants from survivors."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[1] / "mutation" / "mutants.py"


def tool(name: str = "changes") -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TOOL.with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_number_of_a_file_of_facts_is_changed_once() -> None:
    mutants = tool()
    path = mutants.CORE / "raw" / "_ids.py"
    found = list(mutants.fact_mutants(path))
    assert len(found) == len({mutant.source for mutant in found}) > 10
    assert all(mutant.source != path.read_text() for mutant in found)


def test_numbers_and_switches_of_yaml_are_changed_but_no_keys_texts_and_comments() -> None:
    mutants = tool()
    path = mutants.CORE / "platforms" / "made_up.yaml"
    text = '"5":  # 7.4\n  split: true\n  events: [0x1f, 7]\n  label: "910"\n  rate: 0.5\n'
    text += "  fops: 0x4a*32\n  <<: *set_910\n"
    changed = [mutant.source for mutant in mutants._yaml_mutants(path, text)]
    assert changed == [
        text.replace("true", "false"),
        text.replace("0x1f", "32"),
        text.replace("7]", "8]"),
        text.replace("0.5", "1.0"),
        text.replace("0x4a", "75"),
        text.replace("32", "33"),
    ]


def test_logic_mutants_turn_operators_comparisons_and_rounding(tmp_path: Path) -> None:
    mutants = tool()
    path = tmp_path / "made_up.py"
    path_text = "import numpy as np\n\n\ndef ticks(a, b):\n    return np.ceil(a / b) if a < b else a + b\n"
    path.write_text(path_text)
    found = list(mutants.logic_mutants(path))
    notes = {mutant.note for mutant in found}
    assert {"a < b -> (a <= b)", "a / b -> (a * b)", "a + b -> (a - b)", "np.ceil(a / b) -> (np.floor(a / b))"} <= notes


def test_logic_is_judged_by_the_tests_that_run_its_lines_the_own_first_then_the_quickest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    mutants = tool("mutants")
    path = mutants.CORE / "simulate" / "_order.py"
    file = "core/drynpu/simulate/_order.py"
    tests = [
        mutants.Traced(Path("test_stages.py"), True, 9.0, {file: [12, 13]}),
        mutants.Traced(Path("test_lower.py"), True, 2.0, {file: [3, 14]}),
        mutants.Traced(Path("test_order.py"), True, 20.0, {file: [10, 13]}),
        mutants.Traced(Path("test_pieces.py"), True, 1.0, {file: [12, 15], "core/drynpu/simulate/_meet.py": [13]}),
    ]
    mutant = mutants.Mutant(path, 13, "a + b -> (a - b)", "", 14)
    assert [test.name for test in mutants.nearest(mutant, tests)] == [
        "test_order.py",
        "test_lower.py",
        "test_stages.py",
    ]


def test_what_changes_no_result_is_drawn_and_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    mutants = tool("mutants")
    path = mutants.ROOT / "core" / "made_up.py"
    drawn = [mutants.Mutant(path, number, f"a < {number} -> (a <= {number})", "") for number in range(20)]
    even = {each.note: "for a reason" for each in drawn[::2]}
    monkeypatch.setattr(mutants, "equivalent", lambda: {"core/made_up.py": even})
    chosen, equal = mutants.sampled(drawn, 6, 5)
    assert len({each.line for each in chosen}) == 6
    assert all(each.line % 2 for each in chosen)
    assert equal
    assert not any(each.line % 2 for each in equal)
    assert [each.line for each in mutants.sampled(drawn, 6, 5)[0]] == [each.line for each in chosen]
    assert [each.line for each in mutants.sampled(drawn, 6, 6)[0]] != [each.line for each in chosen]


def test_every_change_without_a_result_is_one_that_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    mutants = tool("mutants")
    for file, reasons in mutants.equivalent().items():
        notes = {each.note for each in mutants.logic_mutants(mutants.ROOT / file)}
        assert set(reasons) <= notes, file
        assert all(len(reason) > 20 for reason in reasons.values())


@pytest.mark.slow
@pytest.mark.parametrize(("files", "count"), [("platforms/", 7), ("layouts/", 2), ("raw/_ids.py", 1)])
def test_changed_facts_are_caught(files: str, count: int) -> None:
    """The same ten in every run; ``make mutants`` tries all of them."""
    command = [sys.executable, str(TOOL), "facts", "--only", files, "--sample", str(count), "--seed", "14"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"{count} caught (100%)" in done.stdout, done.stdout + done.stderr
