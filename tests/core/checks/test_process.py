"""What adapters note of a process of a checked script: its steps, its lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import drynpu
from drynpu.checks import Place, Places
from drynpu.checks._process import StepClock


def test_steps_are_what_repeats() -> None:
    clock = StepClock()
    done = ["init", *["train"] * 3, "save", *["train"] * 2]
    assert [clock.is_step(key) for key in done] == [True, False, True, True, False, True, True]
    # Of two that come in turn the first is the step: a loop that trains and tells its profiler counts once.
    clock = StepClock()
    assert sum(clock.is_step(key) for key in ["train", "profiler"] * 4) == 4


def test_lines_of_libraries_are_not_the_scripts(tmp_path: Path) -> None:
    places = Places((tmp_path / "ours",))
    (tmp_path / "ours").mkdir()
    namespace: dict[str, Any] = {"places": places}
    exec(compile("def look():\n    return places.find()\n", str(tmp_path / "ours" / "library.py"), "exec"), namespace)
    exec(compile("\n\nfound = look()\n", str(tmp_path / "script.py"), "exec"), namespace)
    assert namespace["found"] == Place(str(tmp_path / "script.py"), 3)


def test_lines_of_plugins_in_a_checkout_are_not_the_scripts(tmp_path: Path) -> None:
    library = Path(__file__).parents[3] / "plugins" / "apex" / "drynpu_apex" / "library.py"
    namespace: dict[str, Any] = {"places": Places.beside(drynpu)}
    exec(compile("def look():\n    return places.find()\n", str(library), "exec"), namespace)
    exec(compile("\nplace = look()\n", str(tmp_path / "script.py"), "exec"), namespace)
    assert namespace["place"] == Place(str(tmp_path / "script.py"), 2)
