"""Scripts for Ascend under ``drynpu run``, with real MindSpore on the CPU."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from drynpu import OptionError
from drynpu_mindspore.patching import serve_mindspore

HERE = Path(__file__).parent


def kernels(run: Path) -> int:
    """Return how many kernels a run lists."""
    with (run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(encoding="utf-8", newline="") as stream:
        return len(list(csv.DictReader(stream)))


@pytest.fixture(scope="module")
def simulated(scripts: Any) -> Any:
    return scripts.simulated(HERE / "training.py", "Ascend")


@pytest.fixture(scope="module")
def guides(scripts: Any) -> Any:
    return scripts.simulated(HERE / "guides.py")


@pytest.fixture(scope="module")
def surface(scripts: Any) -> Any:
    options = json.dumps({"start": True, "output_path": "env", "mstx": True})
    return scripts.simulated(HERE / "surface.py", environment={"MS_PROFILER_OPTIONS": options, "DRYNPU_DEVICES": "2"})


class TestTraining:
    """One script on the plain CPU and on the simulated device."""

    def test_losses_are_those_of_the_cpu_bit_for_bit(self, scripts: Any, simulated: Any) -> None:
        plain = scripts(HERE / "training.py", "CPU")
        graph, pynative = plain.printed("losses")
        assert len(graph) == len(pynative) == 4
        assert simulated.printed("losses") == [graph, pynative]
        assert plain.printed("told") == ["CPU", 0]

    def test_the_script_is_told_of_the_device(self, simulated: Any) -> None:
        assert simulated.printed("told") == ["Ascend", 0]

    @pytest.mark.parametrize("below", ["data", "pynative"])
    def test_both_modes_leave_a_run_with_kernels(self, simulated: Any, below: str) -> None:
        (run,) = simulated.runs(below)
        assert kernels(run) > 10

    def test_profiler_info_says_what_the_script_set(self, simulated: Any) -> None:
        (run,) = simulated.runs("data")
        info = json.loads((run / "profiler_info_0.json").read_text(encoding="utf-8"))
        assert info["jit_level"] == "O2"
        assert info["profiler_parameters"]["is_set_schedule"] is True
        assert info["profiler_parameters"]["schedule"]["active"] == 2

    def test_options_for_ascend_are_not_refused_aloud(self, simulated: Any) -> None:
        assert not simulated.logged("only supports devices in")


class TestGuides:
    """The ways of MindSpore's guides: what is asked of the recording, in order, between the steps."""

    WHOLE = ("finalize", "analyse", "clear")

    def calls(self, guides: Any, name: str) -> list[str]:
        # When the journal saves depends on how fast the steps are. What a check looks at asks nothing of the recording.
        noted = ["configured"], ["trained"]
        return [" ".join(map(str, each)) for each in guides.printed(name) if each[0] != "save" and each not in noted]

    def test_a_profiler_around_the_training(self, guides: Any) -> None:
        assert self.calls(guides, "example") == ["init", "start", "stop", *self.WHOLE]

    def test_a_callback_profiles_the_steps_that_it_names(self, guides: Any) -> None:
        assert self.calls(guides, "steps") == [
            "epoch begins 1",
            "step begins 1",
            "step begins 2",
            "init",
            "start",
            "step begins 3",
            "stop",
            "step begins 4",
            *self.WHOLE,
        ]

    def test_a_callback_profiles_the_epoch_that_it_names(self, guides: Any) -> None:
        calls = [call for call in self.calls(guides, "epochs") if not call.startswith("step")]
        assert calls == [
            "epoch begins 1",
            "epoch begins 2",
            "init",
            "start",
            "stop",
            "epoch begins 3",
            *self.WHOLE,
        ]

    def test_two_steps_have_as_many_kernels_however_they_were_chosen(self, guides: Any) -> None:
        counts = {name: kernels(guides.runs(name)[0]) for name in ("step", "epoch")}
        assert counts["step"] == counts["epoch"] > 0
        assert counts["step"] % 2 == 0

    def test_a_loop_of_the_users(self, guides: Any) -> None:
        assert self.calls(guides, "loop") == [
            "trained 0",
            "trained 1",
            "init",
            "start",
            "trained 2",
            "stop",
            "trained 3",
            *self.WHOLE,
        ]

    def test_a_file_starts_and_stops_a_profiler(self, guides: Any) -> None:
        calls = self.calls(guides, "dynamic")
        assert [call for call in calls if "step" not in call] == ["init", "start", "stop", *self.WHOLE]
        (run,) = guides.runs("dynamic/rank0_start2_stop3")
        assert kernels(run) == kernels(guides.runs("step")[0])

    def test_a_schedule_saves_by_its_handler(self, guides: Any) -> None:
        assert self.calls(guides, "cycle") == [
            "open_step 0",
            "close_step",
            "init",
            "open_step 1",
            "close_step",
            "start",
            "open_step 2",
            "close_step",
            "stop",
            "finalize",
            "analyse",
            "clear",
            "open_step 3",
            "close_step",
            "open_step 4",
            "close_step",
        ]
        assert len(guides.runs("cycle")) == 1

    def test_the_end_shows_a_summary_once(self, guides: Any) -> None:
        assert (guides.stdout + guides.stderr).count("(simulated)") == 1


class TestSurface:
    """What the patched package offers, with a profiler from the environment around it."""

    def test_every_name_is_ours_wherever_it_is_imported_from(self, surface: Any) -> None:
        assert len(surface.printed("ours")) >= 12
        assert all(surface.printed("ours").values())
        assert all(surface.printed("same"))
        assert surface.printed("name") == ["mindspore.profiler.profiler", "Profile"]

    def test_the_device_is_ascend_until_the_script_says_otherwise(self, surface: Any) -> None:
        assert surface.printed("at_first") == "Ascend"
        assert surface.printed("context") == ["Ascend", 3, "O2", {"precision_mode": "force_fp16"}]
        assert surface.printed("at_last") == "CPU"

    def test_mindspore_itself_sees_the_cpu(self, surface: Any) -> None:
        assert surface.printed("inside") == "CPU"

    def test_tensors_move_to_the_device_by_staying(self, surface: Any) -> None:
        assert surface.printed("moved") == [1.0, 2.0]

    def test_hal_speaks_of_the_simulated_devices(self, surface: Any) -> None:
        assert surface.printed("hal") == [True, 2, 2, "Ascend910B2", True]

    def test_other_devices_are_refused_in_mindspores_words(self, surface: Any) -> None:
        assert surface.printed("GPU") == "Unsupported device target GPU"
        assert surface.printed("Abacus").startswith("For 'context")
        assert surface.printed("after_errors") == "Ascend"

    def test_the_profiler_of_the_environment_leaves_a_run(self, surface: Any) -> None:
        (found,) = surface.runs("env")
        assert (found / "profiler_info_0.json").is_file()
        trace = json.loads((found / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text(encoding="utf-8"))
        assert "done" in {event["name"] for event in trace}
        assert kernels(found) == 1


def test_a_release_without_a_known_profiler_is_said_before_mindspore_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRYNPU_MINDSPORE_API", "9.9")
    with pytest.raises(OptionError, match=r"^DRYNPU_MINDSPORE_API: '9\.9' is no release with a known profiler\."):
        serve_mindspore()


def test_scripts_without_mindspore_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    serve_mindspore()
    serve_mindspore()
    ours = [finder for finder in sys.meta_path if type(finder).__module__.startswith("drynpu_mindspore")]
    assert len(ours) == 1
    assert ours[0].find_spec("json", None) is None
