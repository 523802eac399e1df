"""The group of verbs: help, errors, plugins."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from drynpu import CommandError, PluginError, __version__
from drynpu.cli import build_cli
from drynpu.cli._main import SECTIONS
from drynpu.plugins import Facade, build_manager, hookimpl
from drynpu.plugins.verbs import LazyVerb

VERBS = {name: verb for name, verb in build_cli(build_manager()).commands.items() if isinstance(verb, LazyVerb)}
"""Verbs of the core, and of the plugins that load theirs when they are called."""


def test_help_lists_every_verb_and_cuts_no_line(drynpu: Callable[..., Any]) -> None:
    ended = drynpu("--help")
    assert ended.code == 0
    assert all(f"\n  {verb} " in ended.out for verb in VERBS)
    assert "..." not in ended.out.split("Options:")[1]
    assert all(f"\n{section}:\n" in ended.out for section in SECTIONS)
    titles = [title for title in re.findall(r"^(\S.*):$", ended.out, re.MULTILINE) if title != "Options"]
    assert titles == [*SECTIONS, "Of frameworks and plugins"]


@pytest.mark.parametrize(
    ("section", "title"), [("Kernel times", "Kernel times"), ("Mine", "Mine"), ("", "Of frameworks and plugins")]
)
def test_a_verb_of_a_plugin_stands_in_its_section_and_is_imported_when_it_is_called(section: str, title: str) -> None:
    class Own:
        @staticmethod
        @hookimpl
        def drynpu_cli(group: click.Group) -> None:
            group.add_command(LazyVerb("stars", "no_such_module", "Read the stars.", section))

    cli = build_cli(build_manager(plugins=[("own", Own())]))
    shown = CliRunner().invoke(cli, ["--help"]).output
    (lines,) = (part for part in shown.split("\n\n") if part.startswith(f"{title}:"))
    assert "  Read the stars." in lines
    missing = CliRunner().invoke(cli, ["stars"])
    assert isinstance(missing.exception, ModuleNotFoundError)


def test_help_uses_wide_terminals_up_to_100_characters(process: Callable[..., Any]) -> None:
    widths = {}
    for columns in ("80", "100", "200"):
        shown = process("run", "--help", environment={"COLUMNS": columns}).out
        widths[columns] = max(map(len, shown.splitlines()))
    assert widths["80"] <= 80 < widths["100"] == widths["200"] <= 100


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_verb_has_help(drynpu: Callable[..., Any], verb: str, flag: str) -> None:
    ended = drynpu(verb, flag)
    assert ended.code == 0
    assert ended.out.startswith(f"Usage: drynpu {verb} ")
    assert "--help" in ended.out
    assert ended.err == ""


WITHOUT_JSON = {"completion": "it prints a script that the shell reads"}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_speaks_json_or_has_a_reason_not_to(drynpu: Callable[..., Any], verb: str) -> None:
    shown = drynpu(verb, "--help").out
    assert (re.search(r"^ +--json ", shown, re.MULTILINE) is None) == (verb in WITHOUT_JSON)


def test_version(drynpu: Callable[..., Any]) -> None:
    assert drynpu("--version").out == f"drynpu, version {__version__}\n"


def test_python_m_is_the_command(process: Callable[..., Any]) -> None:
    ended = process("chips", "910B4", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)["name"] == "Ascend910B4"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("analyse", "x"), "No such command 'analyse'"),
        (("run",), "Missing argument 'SCRIPT'"),
        (("run", "--chp", "910B1", "x.py"), "No such option '--chp'"),
        (("analyze", "/nonexistent"), "does not exist"),
        (("run", "--world", "0", "x.py"), "0 is not in the range"),
        (("completion", "tcsh"), "'tcsh' is not one of 'bash', 'fish', 'zsh'"),
    ],
)
def test_a_command_line_that_makes_no_sense_ends_with_2(
    drynpu: Callable[..., Any], arguments: tuple[str, ...], message: str
) -> None:
    ended = drynpu(*arguments)
    assert ended.code == 2
    assert message in ended.err
    assert ended.out == ""


@pytest.fixture
def broken(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which a plugin is installed whose module cannot be imported."""
    site = tmp_path / "site"
    info = site / "brittle-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brittle\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[drynpu.adapters]\nbrittle = brittle_plugin\n")
    (site / "brittle_plugin.py").write_text("raise ImportError('pip install brittle[bold]')\n")
    return {"PYTHONPATH": str(site)}


@pytest.mark.parametrize("arguments", [("chips",), ("completion", "bash"), ("run", "x.py"), ("--help",)])
def test_a_broken_plugin_stops_every_verb_and_is_named(
    process: Callable[..., Any], broken: dict[str, str], arguments: tuple[str, ...]
) -> None:
    ended = process(*arguments, environment=broken)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("drynpu: drynpu.adapters: brittle = brittle_plugin (brittle): cannot be imported:")
    assert ended.err.endswith("See: drynpu doctor\n")
    assert "DRYNPU_PLUGINS=-brittle" in ended.err


def test_doctor_explains_a_broken_plugin(process: Callable[..., Any], broken: dict[str, str]) -> None:
    ended = process("doctor", "--quick", environment=broken)
    assert ended.code == 1
    assert "problem: drynpu.adapters: brittle = brittle_plugin (brittle): cannot be imported:" in ended.out
    assert "ImportError: pip install brittle[bold];" in ended.out, "brackets are text, no markup"
    document = json.loads(process("doctor", "--quick", "--json", environment=broken).out)
    assert [problem for problem in document["problems"] if "brittle" in problem]
    assert process("chips", environment={**broken, "DRYNPU_PLUGINS": "-brittle"}).code == 0


def test_doctor(drynpu: Callable[..., Any]) -> None:
    ended = drynpu("doctor", "--quick", "--json")
    assert (ended.code, ended.err) == (0, "")
    document = json.loads(ended.out)
    names = {"drynpu", "python", "executable", "packages", "vendor_names", "surfaces", "plugins", "problems"}
    assert (set(document), document["surfaces"]) == (names, [])
    assert document["drynpu"] == __version__
    assert document["problems"] == []
    (torch_npu,) = [name for name in document["vendor_names"] if name["module"] == "torch_npu"]
    assert set(torch_npu) == {"module", "kind", "origin", "note"}
    assert torch_npu["kind"] in ("drynpu", "genuine")
    served = "native device" if importlib.util.find_spec("torch") else "needs pip install 'drynpu[torch]'"
    assert torch_npu["kind"] == "genuine" or served in torch_npu["note"]
    assert document["packages"]["polars"][0].isdigit()
    text = drynpu("doctor", "--quick")
    assert text.code == 0
    assert "torch_npu" in text.out
    assert re.search(r"│ torch +│ torch = drynpu_torch\.plugin \(drynpu\) ", text.out)
    assert re.search(r"│ torch_npu +│ (drynpu|genuine) ", text.out)


def test_doctor_says_what_to_install_where_the_framework_is_missing(
    drynpu: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name == "torch" else found(name, *rest))
    ended = drynpu("doctor", "--quick", "--json")
    (torch_npu,) = [name for name in json.loads(ended.out)["vendor_names"] if name["module"] == "torch_npu"]
    assert torch_npu["note"] == "needs pip install 'drynpu[torch]'"
    assert "drynpu[torch]" in drynpu("doctor", "--quick").out.replace("\n", "").replace(" ", "").replace("│", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(drynpu: Callable[..., Any], tmp_path: Path, shell: str) -> None:
    ended = drynpu("completion", shell)
    assert ended.code == 0
    assert f"_DRYNPU_COMPLETE={shell}_complete" in ended.out
    parser = shutil.which(shell)
    if parser is not None:
        script = tmp_path / "completion"
        script.write_text(ended.out)
        checked = subprocess.run([parser, "-n", str(script)], capture_output=True, text=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")
    assert f"drynpu completion {shell}" in drynpu("completion", "--help").out


@pytest.mark.slow
def test_the_shell_is_told_verbs_and_options(process: Callable[..., Any]) -> None:
    words = {"_DRYNPU_COMPLETE": "bash_complete", "COMP_CWORD": "1", "COMP_WORDS": "drynpu co"}
    # The variable's name follows the program's, which python -m spells differently; the script sets it by name.
    ended = process(environment=words)
    assert sorted(line.split(",")[1] for line in ended.out.split()) == ["compare", "completion"]
    words |= {"COMP_CWORD": "2", "COMP_WORDS": "drynpu analyze --n"}
    assert "--no-export" in process(environment=words).out


def test_help_imports_no_verb_and_no_table_engine() -> None:
    code = (
        "import sys\nfrom drynpu.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(*(name for name in sys.modules if name.startswith(('polars', 'numpy', 'rich', 'drynpu.'))), sep=',')"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    modules = shown.splitlines()[-1].split(",")
    assert {name.partition(".")[0] for name in modules} == {"drynpu"}
    rooms = {name.split(".")[1] for name in modules}
    # What adapters register with names what compiles, which asks for the machine; both load the standard library alone.
    assert {room for room in rooms if not room.startswith("_")} == {"cli", "compiling", "host", "plugins"}


def test_every_verb_is_the_command_of_its_module() -> None:
    for name, verb in VERBS.items():
        command = verb.load()
        assert (command.name, bool(command.help)) == (name, True)


@pytest.mark.parametrize("verb", ["run", "export"])
def test_a_plugin_cannot_replace_a_verb_that_was_not_imported_yet(verb: str) -> None:
    class Greedy:
        @staticmethod
        @hookimpl
        def drynpu_cli(group: click.Group) -> None:
            group.add_command(click.Command(verb))

    plugins = build_manager()
    plugins.register(Greedy(), "greedy")
    with pytest.raises(PluginError, match=f"the verb '{verb}' exists already"):
        build_cli(plugins)


def test_doctor_mends_what_it_can(tmp_path: Path) -> None:
    done = [""]

    def mend() -> str:
        if done[0] == "refused":
            raise CommandError("there is no C++ compiler")
        said, done[0] = done[0], ""
        return said

    facade = Facade(module="vendor_of_nobody", framework="json", extra="x", folder=tmp_path, mend=mend)
    missing = Facade(module="other_of_nobody", framework="no_such_framework", extra="x", folder=tmp_path, mend=mend)

    class Plugin:
        @hookimpl
        def drynpu_facades(self) -> tuple[Facade, ...]:
            return (missing, facade)

    def call(*arguments: str) -> Any:
        plugins = build_manager(names=(), plugins=[("nobodys", Plugin())], record_problems=True)
        return CliRunner().invoke(build_cli(plugins), ["doctor", *arguments])

    ended = call("--fix")
    assert (ended.exit_code, ended.output.splitlines()[-1]) == (0, "nothing to mend")
    done[0] = "built it"
    assert json.loads(call("--fix", "--json").output)["mended"] == ["vendor_of_nobody: built it"]
    done[0] = "refused"
    assert "mended" not in json.loads(call("--json").output)  # without --fix it only looks
    refused = call("--fix", "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.output)["problems"] == ["vendor_of_nobody: there is no C++ compiler"]
