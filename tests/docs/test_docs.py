"""The pages say what the code has: nothing is missing from them, and what they point to is there."""

from __future__ import annotations

import csv
import enum
import inspect
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import click
import pytest

from drynpu.cli import build_cli
from drynpu.device import HostCosts
from drynpu.options import (
    BlockTrace,
    ExportType,
    GraphApi,
    HostSystem,
    HostUsage,
    Level,
    LlcMode,
    MetricGroup,
    ProfilingRequest,
    Schedule,
    leaf_values,
)
from drynpu.options.experimental_config import AIC_METRICS, ConfigValues, Flags, HandlerValues
from drynpu.options.profiling_options import KEYS, METRIC_NAMES
from drynpu.plugins import HOOKS, _spec, build_manager

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        *(page for page in DOCS.rglob("*.md") if page.parent.name != "generated"),  # what `make docs` leaves
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        ROOT / "SECURITY.md",
        ROOT / "changes" / "README.md",
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / "plugins").glob("**/README.md"),
    ]
)
SOURCES = [*(ROOT / "core").rglob("*.py"), *(ROOT / "adapters").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]

SCRIPT = """
import sys, torch, torch_npu
from torch_npu import profiler as p
level = getattr(p.ProfilerLevel, sys.argv[1])
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).npu()
config = p._ExperimentalConfig(profiler_level=level, data_simplification=False)
with p.profile(schedule=p.schedule(wait=0, warmup=1, active=1, repeat=1), experimental_config=config,
               on_trace_ready=p.tensorboard_trace_handler(sys.argv[1]), profile_memory=True) as prof:
    for _ in range(2):
        model(torch.ones(4, 8).npu()).sum().backward()
        prof.step()
"""


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def missing(names: Iterable[str], page: str) -> list[str]:
    """The names that the page does not hold in code type."""
    code = set(re.findall(r"`([^`\n]+)`", text(page)))
    return sorted(set(names) - code)


def test_every_option_of_the_model_is_on_the_options_page() -> None:
    assert missing(leaf_values(ProfilingRequest(schedule=Schedule())), "docs/options.md") == []


def test_every_vendor_spelling_is_on_the_options_page() -> None:
    names = [field.name for kind in (ConfigValues, Flags, Schedule, HandlerValues) for field in attrs.fields(kind)]
    assert missing([*KEYS, *names], "docs/options.md") == []
    assert missing([*METRIC_NAMES.values(), *AIC_METRICS.values()], "docs/options.md") == []


@pytest.mark.parametrize(
    "words",
    [Level, MetricGroup, GraphApi, BlockTrace, LlcMode, HostSystem, HostUsage, ExportType],
    ids=lambda e: e.__name__,
)
def test_every_word_of_the_model_is_on_the_options_page(words: type) -> None:
    assert missing([member.value for member in words], "docs/options.md") == []


@pytest.fixture(scope="module")
def options() -> dict[str, list[str]]:
    """The cells of the big table of the options page, by path."""
    rows = [[cell.strip() for cell in line.split("|")] for line in text("docs/options.md").splitlines()]
    return {row[1].strip("`"): row for row in rows if len(row) == 7}


def test_the_options_page_names_the_defaults(options: dict[str, list[str]]) -> None:
    for path, value in leaf_values(ProfilingRequest(schedule=Schedule())).items():
        default = value.value if isinstance(value, enum.Enum) else value
        told = options[path][2].rpartition("; ")[2].strip("`")
        if isinstance(default, bool):
            assert told == str(default).lower(), path
        elif isinstance(default, (str, int)) and default != "":
            assert told == str(default), path
        else:  # nothing, or a tuple: told in words
            assert told, path


def test_the_spellings_stand_beside_their_option(options: dict[str, list[str]]) -> None:
    wrong = [key.name for key in KEYS.values() if f"`{key.name}`" not in options[key.path][3]]
    assert wrong == []


def test_every_hook_is_on_the_plugins_page_with_its_signature() -> None:
    page = text("docs/plugins.md")
    for hook in HOOKS:
        assert f"### `{hook}{inspect.signature(getattr(_spec, hook))}`".replace("'", "") in page


def test_every_environment_variable_is_in_the_documents() -> None:
    told = text("docs/options.md")
    literals = {
        name
        for source in SOURCES
        for name in re.findall(
            r'"((?:DRYNPU|ASCEND|TORCH_NPU|HCCL|PROF|PROFILING|PROFILER)_[A-Z_]+|(?:LOCAL_)?RANK(?:_ID|_SIZE)?)"',
            source.read_text(encoding="utf-8"),
        )
    }
    read = {name for name in literals if any(_is_read(name, source) for source in SOURCES)}
    assert {"DRYNPU_CHIP", "DRYNPU_AUTOLOAD", "ASCEND_WORK_PATH"} <= read
    assert sorted(name for name in read if name not in told) == []
    assert [name for name in read if name.startswith("DRYNPU_") and f"`{name}`" not in told] == []


def _is_read(name: str, source: Path) -> bool:
    """Whether a source that names the variable has to do with the environment at all."""
    content = source.read_text(encoding="utf-8")
    return f'"{name}"' in content and ("environ" in content or "_ENVIRONMENT" in content)


def test_every_setting_is_on_the_options_page() -> None:
    from drynpu.options import Settings

    names = [f"DRYNPU_{field.name.upper()}" for field in attrs.fields(Settings) if field.name != "notices"]
    assert missing(names, "docs/options.md") == []


def test_every_verb_is_on_the_commands_page_with_an_example() -> None:
    page = text("docs/commands.md")
    group = build_cli(build_manager())
    for verb in group.commands:
        assert re.search(rf"^\| `{verb}` \| `[^`]*drynpu {verb}\b", page, re.MULTILINE), verb


def loaded(group: click.Group, verb: str) -> click.Command:
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    return command


def test_the_verbs_take_the_options_that_the_commands_page_shows() -> None:
    group = build_cli(build_manager())
    rows = re.findall(r"^\| `(\w+)` \|(.*)$", text("docs/commands.md"), re.MULTILINE)
    shown = {verb: set(re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", row)) for verb, row in rows if verb in group.commands}
    for verb, options in shown.items():
        known = {
            option
            for parameter in loaded(group, verb).params
            if isinstance(parameter, click.Option)
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        assert options - {"--epochs"} <= known, verb


COMMAND = re.compile(r"^(?: {4})?(?:[A-Z_0-9]+=\S+ )*(drynpu|python) (\S+) (.*(?:\\\n.*)*)$", re.MULTILINE)


@pytest.mark.parametrize("page", ["docs/howto/serve.md", "docs/virtual-time.md"])
def test_the_commands_of_a_page_that_is_not_followed_are_understood(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    group = build_cli(build_manager())
    commands = COMMAND.findall(text(page))
    assert commands
    for program, name, rest in commands:
        words = shlex.split(rest.replace("\\\n", " "))
        if program == "python":
            options = {word for word in words if word.startswith("--")}
            assert options <= set(re.findall(r'add_argument\("(--[\w-]+)"', text(name))), name
            continue
        for word in words:
            if re.fullmatch(r"[\w-]+", word):
                (tmp_path / word).mkdir(exist_ok=True)
        loaded(group, name).make_context(name, words)


def test_every_room_has_its_line() -> None:
    rooms = {path.name for path in (ROOT / "core" / "drynpu").iterdir() if (path / "__init__.py").is_file()}
    assert missing(rooms - {"_vendor"}, "docs/architecture.md") == []


def test_the_host_costs_are_those_of_the_model() -> None:
    page = text("docs/device-model.md")
    for field in attrs.fields(HostCosts):
        assert f"| `{field.name}` | {field.default} |" in page


def test_every_benchmark_is_on_the_performance_page() -> None:
    names = [path.name for path in (ROOT / "benchmarks").glob("bench_*.py")]
    assert missing(names, "docs/performance.md") == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_in_code_type_exist(page: Path) -> None:
    for path in re.findall(
        r"`((?:core|adapters|plugins|tests|benchmarks|examples|docs(?!/en/|/zh/))/[\w./-]*)`",
        page.read_text(encoding="utf-8"),
    ):
        found = (ROOT / path, page.parent / path)
        assert "X" in Path(path).parts or any(each.exists() for each in found), path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_no_machine(page: Path) -> None:
    assert re.findall(r"(?<![\w.~$/>])/(?:work|home|tmp|root|opt)/\S*", page.read_text(encoding="utf-8")) == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        todo += [(page.parent / link).resolve() for link in links if not link.startswith("http")]
    assert set(PAGES) - seen == set()


@pytest.fixture(scope="module")
def results(scripts: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one result directory of each level below it."""
    folder: Path = tmp_path_factory.mktemp("results")
    for level in ("Level0", "Level1"):
        for chip in ("Ascend910B2", "Ascend910A"):
            environment = {"RANK": "0", "DRYNPU_QUIET": "1", "DRYNPU_CHIP": chip}
            scripts(SCRIPT, level, folder=folder, environment=environment)
    return folder


def headers(folder: Path, pattern: str) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for file in sorted(folder.glob(pattern)):
        with file.open(encoding="utf-8", newline="") as stream:
            found.setdefault(re.sub(r"_\d{14}(?=\.csv$)", "", file.name), []).append(next(csv.reader(stream)))
    return found


@pytest.mark.slow
def test_the_formats_page_has_every_header(results: Path) -> None:
    page = text("docs/formats.md")
    blocks = [block.replace("\n", "").split(",") for block in re.findall(r"```\n([A-Za-z][^`]*?,[^`]*?)\n```", page)]
    found = headers(results, "*/*_ascend_pt/ASCEND_PROFILER_OUTPUT/*.csv")
    assert {"kernel_details.csv", "operator_memory.csv", "step_trace_time.csv"} <= set(found)
    for name, rows in found.items():
        assert f"`{name}`" in page
        for row in rows:
            assert _composed(row, blocks), (name, row)


def _composed(row: list[str], blocks: list[list[str]]) -> bool:
    """Whether a header is a block of the page, or two in a row: columns, then counters."""
    unified = [[name for name in block if name not in ("Mix Block Num", "Context ID")] for block in blocks]
    options = [*blocks, *unified]
    return row in options or any(row == first + second for first in options for second in options)


@pytest.mark.slow
def test_the_formats_page_names_every_file(results: Path) -> None:
    page = text("docs/formats.md")
    for pattern in ("ASCEND_PROFILER_OUTPUT/*", "FRAMEWORK/*"):
        names = {file.name for file in results.glob(f"*/*_ascend_pt/{pattern}")}
        assert names
        assert sorted(name for name in names if f"`{name}`" not in page) == []
    for file in results.glob("*/*_ascend_pt/PROF_*/mindstudio_profiler_output/*"):
        assert f"`{re.sub(r'_[0-9]{14}', '_*', file.name)}`" in page, file.name
    for file in results.glob("*/*_ascend_pt/PROF_*/*/data/*.slice_0"):
        stem = re.sub(r"(\.\d+)?\.slice_0$", "", file.name).removeprefix("unaging.additional.")
        assert stem in page, file.name
