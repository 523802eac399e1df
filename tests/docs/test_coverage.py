from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import attrs
import pytest
import yaml

DOCS = Path(__file__).parents[2] / "docs"
LISTS = DOCS / "lists"
LIST = LISTS / "coverage-torch.yaml"


def generate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the generator in a process of its own: it imports torch_npu and makes profilers."""
    return subprocess.run(
        [sys.executable, str(DOCS / "generate_coverage.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "KINETO_LOG_LEVEL": "99"},
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "framework"),
    [("torch", "torch"), ("tensorflow", "tensorflow"), ("mindspore", "mindspore_like"), ("pyacl", "acl")],
)
def test_the_table_is_what_the_code_bears_out(page: str, framework: str) -> None:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    done = generate("--check", "--page", page)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.slow
def test_a_done_name_that_is_not_there_is_found(tmp_path: Path) -> None:
    names = {
        "profile": "done",
        "no_such_name": "done",
        "schedule": "later",
        "no_such_name_yet": "later",
    }
    shown_by = {"profiler/test_states.py::test_block_with_a_schedule": "profile no_such_name"}
    section = {"title": "Names", "owner": "torch_npu.profiler", "names": names, "shown_by": shown_by}
    level = {"title": "Level", "owner": "torch_npu.profiler.ProfilerLevel", "names": {}}
    level["names"] = {"Level0": {"status": "done", "value": "level0"}}
    parameters = {"title": "schedule", "parameters_of": "torch_npu.profiler.schedule", "names": {"steps": "done"}}
    variables = {"title": "Variables", "environment": True, "names": {"DRYNPU_NO_SUCH_THING": "done"}}
    listed = tmp_path / "list.yaml"
    listed.write_text(yaml.safe_dump([section, level, parameters, variables]))
    done = generate("--list", listed, "--table", tmp_path / "table.md")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "Names: no_such_name is marked done, but it is not there",
        "Names: schedule is marked later, but it is there: mark it done or accepted",
        "Names: profiler/test_states.py does not use no_such_name",
        "Level: Level0 is 'Level0' instead of 'level0'",
        "Level: no test shows Level0",
        "schedule: steps is marked done, but it is not there",
        "schedule: no test shows steps",
        "Variables: DRYNPU_NO_SUCH_THING is marked done, but it is not there",
        "Variables: no test shows DRYNPU_NO_SUCH_THING",
    ]
    assert not (tmp_path / "table.md").exists()


@pytest.mark.slow
def test_a_test_that_cannot_show_a_name_is_found(tmp_path: Path) -> None:
    shown_by = {
        "profiler/test_states.py::test_that_was_removed": "profile",
        "profiler/test_no_such_file.py::test_files": "profile",
        "device/test_mstx.py::test_both_spellings_mark_an_instant": "profile schedule",
    }
    names = {"profile": "done"}
    listed = tmp_path / "list.yaml"
    section = {"title": "Names", "owner": "torch_npu.profiler", "names": names, "shown_by": shown_by}
    listed.write_text(yaml.safe_dump([section], sort_keys=False))
    done = generate("--list", listed, "--table", tmp_path / "table.md")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "Names: there is no test profiler/test_states.py::test_that_was_removed",
        "Names: there is no test profiler/test_no_such_file.py::test_files",
        "Names: device/test_mstx.py runs no script",
        "Names: device/test_mstx.py does not use profile",
        "Names: device/test_mstx.py::test_both_spellings_mark_an_instant is to show schedule, which is not listed",
    ]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_coverage", DOCS / "generate_coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["torch", "tensorflow", "mindspore", "pyacl"])
def test_every_name_that_is_there_needs_its_test(page: str, generator: ModuleType) -> None:
    folder = DOCS.parent / generator.PAGES[page].tests
    sections = generator.read(LISTS / f"coverage-{page}.yaml")
    shown = {section.title: list(generator.unshown(section, folder)) for section in sections}
    assert shown == {section.title: [] for section in sections}
    for section in sections:
        there = [name.name for name in section.names if name.status in generator.THERE]
        without = list(generator.unshown(attrs.evolve(section, shown_by={}), folder))
        assert without == [f"{section.title}: no test shows {name}" for name in there]
        for test, names in section.shown_by.items():
            others = {other: shown for other, shown in section.shown_by.items() if other != test}
            alone = [name for name in names if not any(name in shown for shown in others.values())]
            left = set(generator.unshown(attrs.evolve(section, shown_by=others), folder))
            assert left == {f"{section.title}: no test shows {name}" for name in alone if name in there}, test


@pytest.mark.slow
def test_an_old_table_is_found(tmp_path: Path) -> None:
    old = tmp_path / "table.md"
    old.write_text("# Coverage\n")
    done = generate("--check", "--table", old)
    assert done.returncode == 1
    assert "table.md is not up to date" in done.stderr
    assert old.read_text() == "# Coverage\n"


def test_a_name_that_is_only_kept_is_not_shown_as_missing(tmp_path: Path) -> None:
    shown_by = {"bridge/test_kept.py::test_values_and_loops_of_the_process": "environ"}
    names = {"environ": "recorded", "no_such_name": "recorded"}
    section = {"title": "Names", "owner": "os", "names": names, "shown_by": shown_by}
    listed, table = tmp_path / "list.yaml", tmp_path / "table.md"
    listed.write_text(yaml.safe_dump([section]))
    done = generate("--page", "tensorflow", "--list", listed, "--table", table)
    missing = "Names: no_such_name is marked recorded, but it is not there\nNames: no test shows no_such_name\n"
    assert done.stderr == missing
    del names["no_such_name"]
    listed.write_text(yaml.safe_dump([section]))
    assert generate("--page", "tensorflow", "--list", listed, "--table", table).returncode == 0
    assert "| `environ` | recorded |  | `bridge/test_kept.py" in table.read_text()


@pytest.fixture(scope="module")
def sections() -> list[dict[str, object]]:
    loaded: list[dict[str, object]] = yaml.safe_load(LIST.read_text())
    return loaded


@pytest.mark.parametrize(
    ("title", "names"),
    [
        (
            "torch_npu.profiler",
            """profile ProfilerActivity supported_activities tensorboard_trace_handler schedule ProfilerAction
            _ExperimentalConfig supported_profiler_level supported_ai_core_metrics supported_export_type ProfilerLevel
            AiCMetrics ExportType HostSystem _KinetoProfile dynamic_profile""",
        ),
        (
            "_ExperimentalConfig",
            """profiler_level aic_metrics l2_cache msprof_tx mstx data_simplification record_op_args op_attr
            gc_detect_threshold export_type host_sys mstx_domain_include mstx_domain_exclude sys_io
            sys_interconnection""",
        ),
        ("dynamic_profile", "init step start set_state"),
        ("torch_npu.npu.mstx", "mark range_start range_end range_push range_pop mstx_range annotate"),
    ],
)
def test_no_documented_name_is_forgotten(sections: list[dict[str, object]], title: str, names: str) -> None:
    listed = next(section["names"] for section in sections if section["title"] == title)
    assert isinstance(listed, dict)
    assert set(names.split()) <= set(listed)


def test_every_parameter_of_npurunconfig_is_listed() -> None:
    loaded = yaml.safe_load((LISTS / "coverage-tensorflow.yaml").read_text())
    (listed,) = (section["names"] for section in loaded if section["title"] == "NPURunConfig")
    source = (DOCS.parent / "adapters" / "tf" / "drynpu_tf" / "bridge" / "run_config.py").read_text()
    (constructor,) = (
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    assert list(listed) == [argument.arg for argument in constructor.args.args][1:]
