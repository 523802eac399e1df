from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import BuiltinImporter
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import TypeAlias

import click
import pytest

from drynpu import PluginError
from drynpu.plugins import (
    HOOKS,
    PLUGINS_VARIABLE,
    Activation,
    Facade,
    FacadePart,
    PluginChoice,
    StandIn,
    build_manager,
    from_plugins,
    hookimpl,
)

Write: TypeAlias = Callable[[str, str], str]


class Distribution:
    """As much of importlib.metadata.Distribution as an entry point shows."""

    def __init__(self, name: str) -> None:
        self.name = name


def point(name: str, module: str, distribution: str = "someone-else") -> EntryPoint:
    entry = EntryPoint(name, module, "drynpu.adapters")
    vars(entry)["dist"] = Distribution(distribution)
    return entry


@pytest.fixture(autouse=True)
def every_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is switched off around the tests."""
    monkeypatch.delenv(PLUGINS_VARIABLE, raising=False)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a plugin module that can be imported and return its name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    written: list[str] = []

    def make(name: str, body: str) -> str:
        (tmp_path / f"{name}.py").write_text("from drynpu.plugins import hookimpl\n" + body)
        written.append(name)
        return name

    yield make
    for name in written:
        sys.modules.pop(name, None)


class Rules:
    def __init__(self, **rules: str) -> None:
        self.rules = rules

    @hookimpl
    def drynpu_kernel_rules(self, framework: str) -> dict[str, str]:
        return self.rules if framework == "torch" else {}


def test_nothing_is_imported_before_it_is_asked_for(write: Write) -> None:
    first = write("plugin_a", "")
    second = write("plugin_b", "")
    plugins = build_manager(entry_points=[point("b", second), point("a", first)])
    assert plugins.names == ("a", "b")
    assert plugins.loaded == ()
    assert not {first, second} & set(sys.modules)
    assert plugins.adapter("b") is sys.modules[second]
    assert plugins.loaded == ("b",)
    assert first not in sys.modules
    assert plugins.facades() == ()
    assert plugins.loaded == ("a", "b")


def test_the_same_plugin_is_returned_again(write: Write) -> None:
    plugins = build_manager(entry_points=[point("a", write("plugin_c", ""))])
    assert plugins.adapter("a") is plugins.adapter("a")


def test_managers_share_nothing(write: Write) -> None:
    name = write("plugin_d", "")
    one, two = (build_manager(entry_points=[point("a", name)]) for _ in range(2))
    one.adapter("a")
    assert (one.loaded, two.loaded) == (("a",), ())


def test_bundled_plugins_stand_first() -> None:
    points = [point("a", "x"), point("torch", "y", distribution="drynpu")]
    assert build_manager(entry_points=points).names == ("torch", "a")


@pytest.mark.parametrize(
    ("body", "wrong", "nearest"),
    [
        ("@hookimpl\ndef drynpu_chip(): return []\n", "drynpu_chip", "drynpu_chips"),
        ("def drynpu_kernel_rule(framework): return {}\n", "drynpu_kernel_rule", "drynpu_kernel_rules"),
        ("@hookimpl(specname='drynpu_chipz')\ndef chips(): return []\n", "drynpu_chipz", "drynpu_chips"),
    ],
)
def test_a_misspelt_hook_is_an_error(write: Write, body: str, wrong: str, nearest: str) -> None:
    module = write(f"misspelt_{wrong}", body)
    with pytest.raises(PluginError) as caught:
        build_manager(entry_points=[point("mine", module)]).load_all()
    assert str(caught.value) == (
        f"drynpu.adapters: mine = {module} (someone-else): {wrong!r} is not a hook. "
        f"Did you mean {nearest!r}? Hooks: {', '.join(HOOKS)}"
    )


def test_a_hook_without_its_marker_is_an_error(write: Write) -> None:
    module = write("unmarked", "def drynpu_chips(): return []\n")
    with pytest.raises(PluginError, match=r"'drynpu_chips' lacks the marker @drynpu.plugins.hookimpl"):
        build_manager(entry_points=[point("mine", module)]).load_all()


def test_every_misspelt_hook_is_named_at_once() -> None:
    plugin = SimpleNamespace(drynpu_exporter=lambda: None, drynpu_facade=lambda: ())
    with pytest.raises(PluginError) as caught:
        build_manager(entry_points=(), plugins=[("mine", plugin)])
    first, second = str(caught.value).splitlines()
    assert "Did you mean 'drynpu_exporters'?" in first
    assert "Did you mean 'drynpu_facades'?" in second


def test_an_unknown_parameter_is_an_error() -> None:
    class Plugin:
        @hookimpl
        def drynpu_chips(self, colour: str) -> list[Path]:
            return []

    with pytest.raises(PluginError, match=r"plugin 'mine' \(passed in\): .*drynpu_chips.*colour"):
        build_manager(entry_points=(), plugins=[("mine", Plugin())])


def test_a_plugin_that_cannot_be_imported_is_named_with_its_entry_point(write: Write) -> None:
    module = write("broken_a", "import a_library_that_is_not_there\n")
    plugins = build_manager(entry_points=[point("mine", module)])
    with pytest.raises(PluginError) as caught:
        plugins.facades()
    assert str(caught.value) == (
        "drynpu.adapters: mine = broken_a (someone-else): cannot be imported: ModuleNotFoundError: No module named "
        "'a_library_that_is_not_there'; set DRYNPU_PLUGINS=-mine to run without it"
    )
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    with pytest.raises(PluginError, match="cannot be imported"):
        plugins.adapter("mine")


def test_problems_can_be_recorded_instead(write: Write) -> None:
    points = [
        point("bad", write("broken_b", "1 / 0\n")),
        point("good", write("plugin_e", "")),
        point("typo", write("plugin_f", "def drynpu_clii(group): ...\n")),
    ]
    plugins = build_manager(entry_points=points, record_problems=True)
    assert plugins.exporters() == {}
    assert plugins.loaded == ("good",)
    zero, typo = plugins.problems
    assert "ZeroDivisionError" in str(zero)
    assert "Did you mean 'drynpu_cli'?" in str(typo)


def test_an_unknown_adapter_names_the_nearest() -> None:
    plugins = build_manager(entry_points=[point("torch", "x", "drynpu")])
    with pytest.raises(PluginError, match=r"no plugin is called 'troch'\. Did you mean 'torch'\? Installed: torch"):
        plugins.adapter("troch")
    with pytest.raises(PluginError, match="Did you mean 'torch'"):
        build_manager(["tosch"], entry_points=[point("torch", "x", "drynpu")])


def test_names_limit_what_is_considered(write: Write) -> None:
    points = [point("a", write("plugin_g", "")), point("b", "never_imported")]
    plugins = build_manager(["a"], entry_points=points)
    plugins.load_all()
    assert plugins.names == ("a",)


BUNDLED_AND_OTHERS = [point("a", "x"), point("b", "y"), point("torch", "z", "drynpu"), point("leaf", "json", "drynpu")]


@pytest.mark.parametrize(
    ("text", "on", "off"),
    [
        (None, ("torch", "leaf", "a", "b"), ()),
        ("", ("torch",), ("leaf", "a", "b")),
        (" leaf ,b", ("torch", "leaf", "b"), ("a",)),
        ("torch", ("torch",), ("leaf", "a", "b")),
        ("-a, -not-installed,", ("torch", "leaf", "b"), ("a",)),
        ("a,leaf,-leaf", ("torch", "a"), ("leaf", "b")),
    ],
)
def test_the_environment_switches_plugins_off_but_no_adapter(
    monkeypatch: pytest.MonkeyPatch, text: str | None, on: tuple[str, ...], off: tuple[str, ...]
) -> None:
    monkeypatch.delenv("DRYNPU_PLUGINS", raising=False)
    if text is not None:
        monkeypatch.setenv("DRYNPU_PLUGINS", text)
    plugins = build_manager(entry_points=BUNDLED_AND_OTHERS)
    assert (plugins.names, plugins.switched_off) == (on, off)
    assert build_manager(entry_points=BUNDLED_AND_OTHERS, choice=PluginChoice()).switched_off == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-torch", "DRYNPU_PLUGINS: 'torch' is an adapter of drynpu; only plugins can be switched off"),
        ("leav", "DRYNPU_PLUGINS: no plugin is called 'leav'. Did you mean 'leaf'? Plugins: leaf, a, b"),
    ],
)
def test_a_choice_that_cannot_be_is_named(monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.setenv("DRYNPU_PLUGINS", text)
    with pytest.raises(PluginError) as caught:
        build_manager(entry_points=BUNDLED_AND_OTHERS)
    assert str(caught.value) == message


def test_a_bundled_plugin_without_its_package_is_off_and_says_so() -> None:
    plugins = build_manager(entry_points=[point("leaf", "drynpu_that_is_not_here.plugin", "drynpu")])
    assert (plugins.names, plugins.switched_off) == ((), ("leaf",))
    with pytest.raises(PluginError, match="the plugin 'leaf' is off: DRYNPU_PLUGINS leaves it out, or its package"):
        plugins.adapter("leaf")
    assert plugins.off_for_verb("dance") == "It may belong to a plugin that is not here: leaf."


def test_the_plugin_of_a_verb_that_is_off_is_named(write: Write) -> None:
    verbs = "import click\n\n@hookimpl\ndef drynpu_cli(group):\n    group.add_command(click.Command('dance'))\n"
    points = [point("leaf", write("plugin_with_verb", verbs))]
    plugins = build_manager(entry_points=points, choice=PluginChoice(frozenset()))
    assert plugins.off_for_verb("dance") == "It is a verb of the plugin 'leaf', which DRYNPU_PLUGINS switches off."
    assert plugins.off_for_verb("sing") == ""


def test_the_plugin_of_an_exporter_that_is_off_is_named(write: Write) -> None:
    points = [point("leaf", write("plugin_that_exports", "@hookimpl\ndef drynpu_exporters(): return {'csv': print}\n"))]
    plugins = build_manager(entry_points=points, choice=PluginChoice(frozenset()))
    off = "It is an exporter of the plugin 'leaf', which DRYNPU_PLUGINS switches off."
    assert (plugins.off_for_exporter("csv"), plugins.off_for_exporter("xml")) == (off, "")


def test_two_plugins_of_one_name_are_an_error() -> None:
    with pytest.raises(PluginError, match=r"two plugins are called 'a': .*\(one\) and .*\(two\); uninstall one"):
        build_manager(entry_points=[point("a", "x", "one"), point("a", "y", "two")])
    with pytest.raises(PluginError, match="a plugin of this name is registered already"):
        build_manager(entry_points=(), plugins=[("a", Rules()), ("a", Rules())])


def test_kernel_rules_are_asked_by_framework() -> None:
    plugins = build_manager(entry_points=(), plugins=[("one", Rules(add="1")), ("two", Rules(mul="2"))])
    assert plugins.kernel_rules("torch") == {"add": "1", "mul": "2"}
    assert plugins.kernel_rules("tf") == {}


def test_an_external_rule_replaces_a_bundled_one_but_not_another_external_one(write: Write) -> None:
    body = "@hookimpl\ndef drynpu_kernel_rules(framework): return {'add': 'bundled', 'mul': 'bundled'}\n"
    points = [point("torch", write("plugin_h", body), "drynpu")]
    plugins = build_manager(entry_points=points, plugins=[("mine", Rules(add="mine"))])
    assert plugins.kernel_rules("torch") == {"add": "mine", "mul": "bundled"}
    plugins.register(Rules(add="again"), "third")
    with pytest.raises(PluginError, match=r"'mine'.* and .*'third'.* both have a rule for the operator 'add'"):
        plugins.kernel_rules("torch")


def test_exporters_of_one_name_are_an_error() -> None:
    class Plugin:
        @hookimpl
        def drynpu_exporters(self) -> dict[str, object]:
            return {"parquet": print}

    plugins = build_manager(entry_points=(), plugins=[("one", Plugin())])
    assert plugins.exporters() == {"parquet": print}
    plugins.register(Plugin(), "two")
    with pytest.raises(PluginError, match="both have an exporter called 'parquet'"):
        plugins.exporters()


def test_chips_facades_and_stand_ins_are_gathered(tmp_path: Path) -> None:
    facade = Facade(module="vendor_x", framework="x", extra="x", folder=tmp_path)
    stand_in = StandIn(framework="x", module="x_like", extra="x", loader=BuiltinImporter)

    class Plugin:
        @hookimpl
        def drynpu_chips(self) -> list[str]:
            return [str(tmp_path / "chip.yaml")]

        @hookimpl
        def drynpu_facades(self) -> list[Facade]:
            return [facade]

        @hookimpl
        def drynpu_stand_ins(self) -> list[StandIn]:
            return [stand_in]

    plugins = build_manager(entry_points=(), plugins=[("one", Plugin()), ("two", Rules())])
    assert plugins.chip_files() == (tmp_path / "chip.yaml",)
    assert plugins.facades() == (facade,)
    assert plugins.stand_ins() == (stand_in,)


def test_parts_of_a_facade_are_gathered_by_its_package(tmp_path: Path) -> None:
    parts = [FacadePart(package=name, folder=tmp_path, names="_part") for name in ("vendor_x", "vendor_x.contrib")]

    class Plugin:
        @hookimpl
        def drynpu_facade_parts(self) -> list[FacadePart]:
            return parts

    plugins = build_manager(entry_points=(), plugins=[("one", Plugin()), ("two", Rules())])
    assert [plugins.facade_parts(part.package) for part in parts] == [(("one", part),) for part in parts]
    assert plugins.facade_parts("vendor_y") == ()


def test_an_installed_device_is_announced_to_every_plugin_by_framework() -> None:
    frameworks: list[str] = []

    class Plugin:
        @hookimpl
        def drynpu_device_installed(self, framework: str) -> None:
            frameworks.append(framework)

    build_manager(entry_points=(), plugins=[("one", Plugin()), ("two", Plugin())]).device_installed("torch")
    assert frameworks == ["torch", "torch"]


def test_verbs_are_added_but_never_replaced() -> None:
    class Plugin:
        def __init__(self, verb: str) -> None:
            self.verb = verb

        @hookimpl
        def drynpu_cli(self, group: click.Group) -> None:
            group.add_command(click.Command(self.verb))

    group = click.Group("drynpu", commands=[click.Command("run")])
    run = group.commands["run"]
    build_manager(entry_points=(), plugins=[("one", Plugin("report"))]).add_commands(group)
    assert sorted(group.commands) == ["report", "run"]
    with pytest.raises(PluginError, match=r"plugin 'two' \(passed in\): the verb 'run' exists already"):
        build_manager(entry_points=(), plugins=[("two", Plugin("run"))]).add_commands(group)
    assert group.commands["run"] is run


def test_activation_reaches_every_plugin_and_shares_the_environment() -> None:
    class Plugin:
        @hookimpl
        def drynpu_activate(self, context: Activation) -> None:
            context.environment["SEEN"] = f"{context.script} {context.argv[1]}"

    environment: dict[str, str] = {}
    context = Activation(script=Path("train.py"), argv=("train.py", "--fast"), environment=environment)
    build_manager(entry_points=(), plugins=[("one", Plugin())]).activate(context)
    assert environment == {"SEEN": "train.py --fast"}


def test_the_installed_torch_adapter_is_listed_without_importing_torch() -> None:
    code = (
        "import sys; from drynpu.plugins import build_manager; p = build_manager(['torch']);"
        "print(p.names, [f.module for f in p.facades()], p.place('torch'), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "('torch',) ['torch_npu'] drynpu.adapters: torch = drynpu_torch.plugin (drynpu) False"
    )


def test_a_recording_looks_at_the_same_plugins_once_and_tries_one_that_failed_again(
    third_party_group: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    module = third_party_group / "launches_by_type.py"
    works = module.read_text(encoding="utf-8")
    module.write_text("raise ImportError('not yet')", encoding="utf-8")
    before = from_plugins(lambda plugins: plugins)
    monkeypatch.syspath_prepend(str(third_party_group))
    assert "launches" not in from_plugins(lambda plugins: (plugins.load_all(), plugins.loaded)[1])
    assert "not yet" in capfd.readouterr().err
    module.write_text(works, encoding="utf-8")
    importlib.invalidate_caches()
    with_it = from_plugins(lambda plugins: (plugins.load_all(), plugins)[1])
    assert "launches" in with_it.loaded
    assert from_plugins(lambda plugins: plugins) is with_it
    assert with_it is not before
    monkeypatch.setenv("DRYNPU_PLUGINS", "-launches")
    assert "launches" not in from_plugins(lambda plugins: plugins.names)
