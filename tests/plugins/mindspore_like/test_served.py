"""``mindspore_like`` under the name ``mindspore``: only under ``drynpu run``, only where there is no MindSpore."""

from __future__ import annotations

import csv
import importlib.util
import json
import sys
from collections import Counter
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drynpu.products import load_profile
from drynpu_mindspore.patching import serve_mindspore

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[2] / "examples" / "mindspore" / "train_like.py"
RUN = ("-m", "drynpu", "run")
A_STEP = {"MatMulV2": 1, "Relu": 1, "Sub": 1, "ReduceMean": 1}


@pytest.fixture(scope="module")
def guides(without_mindspore: Any) -> Any:
    return without_mindspore(HERE / "guides.py", under=RUN)


@pytest.fixture(scope="module")
def example(without_mindspore: Any) -> Any:
    return without_mindspore(EXAMPLE, under=(*RUN, "--quiet"))


def kernels(run: Path) -> list[dict[str, str]]:
    with (run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def steps(run: Path) -> float:
    """Return how many training steps the kernels of a run are."""
    counts = Counter(row["Name"].rpartition("/")[2] for row in kernels(run))
    (number,) = {counts[name] / times for name, times in A_STEP.items()}
    assert counts.keys() == A_STEP.keys()
    return number


class TestGuides:
    @pytest.mark.parametrize(
        ("below", "number"), [("whole", 4), ("steps", 2), ("epochs", 4), ("loop", 2), ("cycle", 2)]
    )
    def test_exactly_the_steps_that_were_named_are_recorded(self, guides: Any, below: str, number: int) -> None:
        (run,) = guides.runs(below)
        assert steps(run) == number

    def test_losses_are_those_of_numpy(self, guides: Any) -> None:
        expected = [np.mean(np.float32(2 * row) - np.ones((2, 2), np.float32)) for row in range(4)]
        assert guides.printed("losses") == expected

    def test_a_schedule_gives_kernels_their_steps(self, guides: Any) -> None:
        (run,) = guides.runs("cycle")
        assert [row["Step ID"] for row in kernels(run)] == ["2"] * 4 + ["3"] * 4

    def test_a_line_says_what_is_served(self, guides: Any) -> None:
        said = [line for line in guides.stderr.splitlines() if line.startswith("[drynpu]")]
        assert len(said) == 1
        assert "there is no MindSpore here" in said[0]
        assert "pip install 'drynpu[mindspore]'" in said[0]

    def test_the_profiler_speaks_in_the_log(self, guides: Any) -> None:
        for text in (
            "'mindspore.Profiler' will be deprecated and removed in a future version.",
            "ProfilerInterface analyse failed, profiler has not been initialized.",
            "For StopAtEpoch callback, {'",
        ):
            assert any(line.startswith("[WARNING] ME(") and text in line for line in guides.stderr.splitlines())

    def test_both_names_are_one_package(self, guides: Any) -> None:
        assert guides.printed("ours") == [True] * 4
        assert guides.printed("action") is True
        assert guides.printed("spec") == ["mindspore_like", "mindspore_like"]
        assert guides.printed("device") == ["Ascend", 0]

    @pytest.mark.parametrize(
        ("statement", "name"),
        [
            ("from mindspore import nn", "mindspore.nn"),
            ("import mindspore.nn", "mindspore.nn"),
            ("from mindspore.train import Accuracy", "mindspore.train.Accuracy"),
        ],
    )
    def test_what_is_not_there_says_what_is(self, guides: Any, statement: str, name: str) -> None:
        kind, text = guides.printed(statement)
        assert kind == "ImportError"
        assert text.startswith(f"{name} is not there: 'mindspore' is drynpu's mindspore_like")
        assert text.endswith("pip install 'drynpu[mindspore]'.")

    def test_the_end_shows_a_summary(self, guides: Any) -> None:
        assert guides.stdout.count("(simulated)") == 1
        assert "Every operator that launches a kernel is mapped." in guides.stdout


class TestExample:
    def test_it_learns(self, example: Any) -> None:
        losses = [float(line.split()[-1]) for line in example.stdout.splitlines() if line.startswith("epoch ")]
        assert len(losses) == 8
        assert losses[-1] < losses[0] / 4

    def test_it_leaves_a_run_with_the_kernels_of_three_steps(self, example: Any) -> None:
        (run,) = example.runs("demo_out")
        found = kernels(run)
        counts = Counter(row["Type"] for row in found)
        assert counts["MatMulV2"] == 3 * 5
        assert counts["SoftmaxCrossEntropyWithLogits"] == 3
        first = found[0]
        assert first["Name"] == "Kernel::KernelLaunch::Default/network-Classifier/MatMul/MatMulV2"
        assert (first["Input Shapes"], first["Input Data Types"]) == ('"128,32;32,64"', "FLOAT;FLOAT")
        assert any(row["Name"].startswith("Kernel::KernelLaunch::Gradients/") for row in found)

    def test_nothing_is_unmapped_and_core_reads_the_run(self, example: Any) -> None:
        (run,) = example.runs("demo_out")
        about = json.loads((run / "profiler_metadata.json").read_text(encoding="utf-8"))
        assert about["drynpu"]["unmapped_operators"] == {}
        assert load_profile(run) is not None
        info = json.loads((run / "profiler_info_0.json").read_text(encoding="utf-8"))
        assert info["ms_version"].startswith("2.7.2+drynpu")


def test_outside_drynpu_run_the_name_is_free_and_the_package_is_there(without_mindspore: Any) -> None:
    plain = without_mindspore(
        "import mindspore_like as ms\n"
        "try:\n    import mindspore\nexcept ModuleNotFoundError as error:\n    print('name=\"%s\"' % error.name)\n"
        "ms.set_device('CPU')\n"
        "with ms.profiler.profile(on_trace_ready=ms.profiler.tensorboard_trace_handler('data')):\n"
        "    print('sum=%s' % (ms.Tensor([1.0, 2.0]) + 1).sum().item())\n",
    )
    assert plain.printed("name") == "mindspore"
    assert plain.printed("sum") == 5.0
    (run,) = plain.runs()
    assert (run / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").is_file()
    assert not list(run.glob("ASCEND_PROFILER_OUTPUT/kernel_details.csv")), "the script has no NPU"


def test_without_the_plugin_a_line_says_how_to_get_the_name(without_mindspore: Any) -> None:
    ended = without_mindspore("import mindspore\n", under=RUN, environment={"DRYNPU_PLUGINS": ""}, status=1)
    (said,) = [line for line in ended.stderr.splitlines() if line.startswith("[drynpu]")]
    assert "there is no MindSpore here: pip install 'drynpu[mindspore]'. 'mindspore' is served by the plugin" in said
    assert "'mindspore_like', which is off" in said
    assert ended.stderr.rstrip().endswith("ModuleNotFoundError: No module named 'mindspore'")


@pytest.fixture
def searching(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in which ``mindspore`` is looked for first."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, "mindspore", raising=False)
    (tmp_path / "mindspore").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "mindspore"


def test_a_genuine_package_is_never_shadowed(searching: Path) -> None:
    (searching / "__init__.py").write_text("", encoding="utf-8")
    serve_mindspore()
    found = importlib.util.find_spec("mindspore")
    assert found is not None
    assert found.origin == str(searching / "__init__.py")


def test_a_folder_of_that_name_is_no_package(searching: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine, folder = PathFinder.find_spec, [str(searching.parent)]
    monkeypatch.setattr(
        PathFinder,
        "find_spec",
        lambda name, path=None, target=None: genuine(name, folder if name == "mindspore" else path),
    )
    serve_mindspore()
    found = importlib.util.find_spec("mindspore")
    assert found is not None
    assert type(found.loader).__name__ == "StandInLoader"


def resolved(ended: Any) -> dict[str, str]:
    (name,) = [each for each in json.loads(ended.stdout)["vendor_names"] if each["module"] == "mindspore"]
    return name


def test_doctor_says_what_the_name_resolves_to(without_mindspore: Any, scripts: Any, tmp_path: Path) -> None:
    doctor = "from drynpu.cli import main\nmain()\n"
    name = resolved(without_mindspore(doctor, "doctor", "--quick", "--json"))
    assert name["kind"] == "drynpu"
    assert Path(name["origin"]).parent.name == "mindspore_like"
    assert name["note"].startswith("mindspore_like, under drynpu run only; pip install 'drynpu[mindspore]'")
    (tmp_path / "mindspore").mkdir()
    (tmp_path / "mindspore" / "__init__.py").write_text("", encoding="utf-8")
    name = resolved(scripts(doctor, "doctor", "--quick", "--json", folder=tmp_path))
    assert (name["kind"], name["note"]) == ("genuine", "mindspore_like is not served")
    assert Path(name["origin"]) == tmp_path / "mindspore" / "__init__.py"
