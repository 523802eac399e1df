"""The house rules that no linter knows: who may import whom, which names are public, how long a file may be."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from drynpu.plugins import ALWAYS_LOADED, ENTRY_POINT_GROUP

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core" / "drynpu"
ADAPTERS = ROOT / "adapters"
PLUGINS = ROOT / "plugins"

ROOMS = (
    "platforms",
    "options",
    "plugins",
    "kernels",
    "device",
    "raw",
    "layouts",
    "writers",
    "simulate",
    "tables",
    "analysis",
    "deliverables",
    "products",
    "recorder",
    "exporters",
    "checks",
    "views",
    "cli",
)
"""In the order in which they may import each other."""
FRAMEWORKS = {"torch", "torch_npu", "tensorflow", "mindspore", "npu_bridge", "npu_device", "acl", "hccl", "onnx"}
MOST_LINES = 500


def packages_of(folder: Path) -> list[Path]:
    """The packages of an adapter or a plugin; without its facades."""
    return sorted(path.parent for path in folder.glob("*/__init__.py"))


def facades_of(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("vendor/*/__init__.py"))


PLUGIN_FOLDERS = sorted(path for path in PLUGINS.iterdir() if path.is_dir())
ADAPTER_PACKAGES = [package for folder in sorted(ADAPTERS.iterdir()) for package in packages_of(folder)]
PLUGIN_PACKAGES = [package for folder in PLUGIN_FOLDERS for package in packages_of(folder)]


def sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def imports_of(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield every module or name that a module imports, also in functions and under TYPE_CHECKING, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


@functools.cache
def imported(path: Path) -> tuple[tuple[str, int], ...]:
    return tuple(imports_of(ast.parse(path.read_text())))


def room_of(path: Path) -> str:
    """The room a file of the core belongs to; ``""`` for the top-level modules."""
    parts = path.relative_to(CORE).with_suffix("").parts
    return parts[0] if len(parts) > 1 else ""


def room_imported(module: str) -> str | None:
    """The room that ``drynpu.x.y`` belongs to, ``""`` for top-level modules, ``None`` for anything else."""
    parts = module.split(".")
    if parts[0] != "drynpu":
        return None
    return parts[1] if len(parts) > 1 and (CORE / parts[1]).is_dir() else ""


def test_every_folder_of_the_core_is_a_known_room() -> None:
    folders = {path.name for path in CORE.iterdir() if path.is_dir() and not path.name.startswith(("_", "."))}
    assert folders <= set(ROOMS)


def test_rooms_import_only_rooms_before_them() -> None:
    wrong = []
    for path in sources(CORE):
        room = room_of(path)
        if path == CORE / "__main__.py":
            continue
        allowed = {"", *ROOMS[: ROOMS.index(room) + 1]} if room else {""}
        for module, line in imported(path):
            target = room_imported(module)
            if target is not None and target not in allowed:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {room or 'top level'} may not import {module}")
    assert not wrong, "\n".join(wrong)


_WALLS = {
    "facts": {"records", "tables", "files", "db"},
    "records": {"tables", "files", "db"},
    "tables": {"records", "files"},
}
"""Part of a record group -> the parts of any group that it may not import."""


def test_parts_of_record_groups_keep_their_walls() -> None:
    wrong = []
    for path in sources(CORE / "deliverables"):
        for module, line in imported(path):
            parts = module.split(".")
            forbidden = _WALLS.get(path.stem, set()) if len(path.relative_to(CORE).parts) > 2 else set()
            if parts[:2] == ["drynpu", "deliverables"] and len(parts) > 3 and parts[3] in forbidden:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {path.stem} may not import {module}")
    assert not wrong, "\n".join(wrong)


def private_room_imports(path: Path, room: str) -> Iterator[str]:
    """Yield what a file of a room imports of another room's private modules and names, with its line."""
    for module, line in imported(path):
        target = room_imported(module)
        if target and target != room and any(part.startswith("_") for part in module.split(".")[2:]):
            yield f"{line}: {module}"


def test_rooms_import_only_public_names_of_each_other() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{each}"
        for path in sources(CORE)
        for each in private_room_imports(path, room_of(path))
    ]
    assert not wrong, "\n".join(wrong)


def test_private_imports_are_found(tmp_path: Path) -> None:
    """Of modules, of names, in functions; not of the file's own room nor of what all rooms share."""
    file = tmp_path / "late.py"
    file.write_text(
        "from drynpu._errors import PluginError\nfrom drynpu.raw._tlv import read\nfrom drynpu.raw import _tlv\n"
        "from drynpu.raw.tlv import _read\nfrom drynpu.tables._x import y\ndef f():\n    import drynpu.raw._tlv\n"
    )
    assert [each.partition(":")[0] for each in private_room_imports(file, "tables")] == ["2", "3", "4", "7"]


def test_facts_that_others_need_stand_in_layouts() -> None:
    """The ``facts`` of a record group are its own affair."""
    wrong = []
    for path in [path for base in (CORE, ADAPTERS, ROOT / "plugins") for path in sources(base)]:
        for module, line in imported(path):
            parts = [*module.split("."), ""]
            inside = path.is_relative_to(CORE / "deliverables" / parts[2]) if len(parts) > 3 else True
            if parts[:2] == ["drynpu", "deliverables"] and parts[3] == "facts" and not inside:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {module}")
    assert not wrong, "\n".join(wrong)


def test_the_direction_test_sees_imports_inside_functions(tmp_path: Path) -> None:
    file = tmp_path / "late.py"
    file.write_text("def f():\n    from drynpu.cli import main\n    import drynpu.views._html\n")
    assert [room_imported(module) for module, _ in imported(file)] == ["cli", "views"]


def circles(sources_by_module: Mapping[str, str]) -> list[list[str]]:
    """
    Groups of modules that import each other, directly or through others, also inside functions.

    That a module cannot be loaded without the packages around it is no import.
    """
    reached: dict[str, set[str]] = {}
    for module, text in sources_by_module.items():
        names = {name for name, _ in imports_of(ast.parse(text))}
        # ``from a.b import c`` imports the module a.b.c, or else a name of a.b.
        targets = {name if name in sources_by_module else name.rpartition(".")[0] for name in names}
        reached[module] = (targets & sources_by_module.keys()) - {module}
    for middle in reached:
        for targets in reached.values():
            if middle in targets:
                targets |= reached[middle]
    found = {tuple(sorted(b for b in reached[a] if a in reached[b])) for a in reached if a in reached[a]}
    return [list(group) for group in sorted(found)]


PARTS = [
    CORE,
    *ADAPTER_PACKAGES,
    *PLUGIN_PACKAGES,
    *(facade for base in (ADAPTERS, PLUGINS) for folder in sorted(base.iterdir()) for facade in facades_of(folder)),
]


def texts_of(part: Path) -> dict[str, str]:
    """Return the source of every module of a package, by its dotted name."""
    texts = {}
    for path in sources(part):
        parts = path.relative_to(part.parent).with_suffix("").parts
        texts[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return texts


@pytest.mark.parametrize("part", PARTS, ids=lambda path: path.name)
def test_no_modules_import_each_other(part: Path) -> None:
    assert circles(texts_of(part)) == []


def test_circles_are_found() -> None:
    """Through a third module, a package, under TYPE_CHECKING and inside a function."""
    modules = {
        "p": "from p.a import one",
        "p.a": "from p.b import two",
        "p.b": "import typing\nif typing.TYPE_CHECKING:\n    from p.c import Three",
        "p.c": "from p import a",
        "p.d": "def late():\n    from p import a, e",
        "p.e": "from p import d",
        "q": "from q._f import g",
        "q._f": "from q import g",
    }
    assert circles(modules) == [["p.a", "p.b", "p.c"], ["p.d", "p.e"], ["q", "q._f"]]


def test_core_imports_no_framework_and_no_adapter() -> None:
    wrong = []
    for path in sources(CORE):
        for module, line in imported(path):
            top = module.split(".")[0]
            if top in FRAMEWORKS or (top.startswith("drynpu_")):
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {module}")
    assert not wrong, "\n".join(wrong)


def test_adapters_import_neither_facades_nor_each_other() -> None:
    wrong = []
    for adapter in sorted(ADAPTERS.glob("*/drynpu_*")):
        facades = {path.name for path in (adapter.parent / "vendor").glob("*")}
        for path in sources(adapter):
            for module, line in imported(path):
                top = module.split(".")[0]
                if top in facades or (top.startswith("drynpu_") and top != adapter.name):
                    wrong.append(f"{path.relative_to(ROOT)}:{line}: {module}")
    assert not wrong, "\n".join(wrong)


def private_imports(folder: Path, packages: Iterable[str]) -> list[str]:
    """Imports of private modules or names of these packages, by file and line."""
    return [
        f"{path.relative_to(ROOT)}:{line}: {module}"
        for path in sources(folder)
        for module, line in imported(path)
        if module.split(".")[0] in packages
        and any(part.startswith("_") and part != "__version__" for part in module.split("."))
    ]


def test_private_names_of_tensorflow_are_imported_in_one_place() -> None:
    # Tables of places where scripts look for names are texts: what is in them is imported when a script asks for it.
    home = ADAPTERS / "tf" / "drynpu_tf" / "inside.py"
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {module}"
        for folder in (ADAPTERS, PLUGINS)
        for path in sources(folder)
        for module, line in imported(path)
        if module.startswith("tensorflow.python") and path != home
    ]
    assert not wrong, "\n".join(wrong)


def test_adapters_use_only_public_rooms_of_the_core() -> None:
    wrong = [each for adapter in sorted(ADAPTERS.glob("*/drynpu_*")) for each in private_imports(adapter, {"drynpu"})]
    assert not wrong, "\n".join(wrong)


def test_nothing_imports_a_plugin() -> None:
    """Neither the core, nor an adapter or its facades, nor another plugin: whoever removes its folder breaks none."""
    plugin_of = {path.name: plugin for plugin in PLUGIN_FOLDERS for path in (*packages_of(plugin), *facades_of(plugin))}
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {module}"
        for base in (ROOT / "core", ADAPTERS, *PLUGIN_FOLDERS)
        for path in sources(base)
        for module, line in imported(path)
        if plugin_of.get(module.split(".")[0], base) != base
    ]
    assert not wrong, "\n".join(wrong)


def test_plugins_use_only_what_a_third_party_could() -> None:
    """Public names of core and adapters; a plugin's own package imports no facade."""
    wrong = []
    ours = {"drynpu", *(package.name for package in ADAPTER_PACKAGES)}
    facades = {facade.name for base in (ADAPTERS, PLUGINS) for each in base.iterdir() for facade in facades_of(each)}
    for plugin in PLUGIN_FOLDERS:
        wrong += private_imports(plugin, ours)
        for package in packages_of(plugin):
            for path in sources(package):
                late = [(module, line) for module, line in imported(path) if module.split(".")[0] in facades]
                wrong += [f"{path.relative_to(ROOT)}:{line}: {module}" for module, line in late]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("plugin", PLUGIN_FOLDERS, ids=lambda path: path.name)
def test_every_plugin_is_a_whole(plugin: Path) -> None:
    """It says what it is for, registers as a stranger's package does, has tests, and nothing else lies beside them."""
    points = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP) if point.dist.name == "drynpu"}
    assert points[plugin.name] == f"drynpu_{plugin.name}.plugin"
    assert len((plugin / "README.md").read_text().splitlines()) < 40
    assert sorted((ROOT / "tests" / "plugins" / plugin.name).rglob("test_*.py"))
    entries = {path.name for path in plugin.iterdir()} - {"__pycache__"}
    assert entries - {"README.md", "vendor"} == {package.name for package in packages_of(plugin)}
    assert f"({plugin.name}/README.md)" in (PLUGINS / "README.md").read_text()


def test_what_is_always_loaded_is_no_plugin() -> None:
    points = {point.name for point in entry_points(group=ENTRY_POINT_GROUP) if point.dist.name == "drynpu"}
    assert points - {plugin.name for plugin in PLUGIN_FOLDERS} == set(ALWAYS_LOADED)


FACADES = sorted(path for base in (ADAPTERS, PLUGINS) for path in base.glob("*/vendor/*/__init__.py"))


def is_slow(marks: list[ast.expr]) -> bool:
    """Whether marks of a test, or of a file of tests, name ``slow``."""
    return any("pytest.mark.slow" in ast.unparse(mark) and "pytest.param(" not in ast.unparse(mark) for mark in marks)


def has_a_quick_test(path: Path) -> bool:
    """Whether a file has a test that ``make test`` runs; cases of a test that are slow do not count against it."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    marks = [node.value for node in module.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)]
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    tests = [function for function in functions if function.name.startswith("test")]
    return not is_slow(marks) and not all(is_slow(test.decorator_list) for test in tests)


def test_every_room_has_a_quick_test() -> None:
    """Otherwise ``make test`` fails, ten minutes later."""
    tests = ROOT / "tests"
    apart = [path.parent for path in tests.rglob("process.yaml") if "apart:" in path.read_text(encoding="utf-8")]
    files = [path for path in sorted(tests.rglob("test_*.py")) if not set(apart) & set(path.parents)]
    rooms = {path: "/".join(path.relative_to(tests).parts[:-1][:2]) for path in files}
    deep = {room for room in rooms.values() if "/" in room}
    checked = {room for room in rooms.values() if not any(other.startswith(f"{room}/") for other in deep)}
    assert checked - {rooms[path] for path in files if has_a_quick_test(path)} <= {""}


@pytest.mark.parametrize("facade", FACADES, ids=lambda path: path.parent.name)
def test_facades_begin_with_the_guard(facade: Path) -> None:
    """The body stands behind ``if not hand_over(__name__, __file__):``; nothing else runs before it."""
    docstring, future, guard_import, guard = ast.parse(facade.read_text()).body[:4]
    assert isinstance(docstring, ast.Expr)
    assert isinstance(future, ast.ImportFrom)
    assert future.module == "__future__"
    assert isinstance(guard_import, ast.ImportFrom)
    assert guard_import.module in {"drynpu", "drynpu._guard"}
    assert {each.name for each in guard_import.names} - {"without_collections"} == {"hand_over"}
    assert isinstance(guard, ast.If)
    assert ast.unparse(guard.test) == "not hand_over(__name__, __file__)"
    assert "hand_over(__name__, __file__)" in facade.read_text()
    assert len(ast.parse(facade.read_text()).body) == 4, "everything else belongs into a module of its own"


def public_names(path: Path) -> tuple[list[str], set[str]]:
    """What ``__all__`` of a file says, and the public names that the file binds, or imports when they are used."""
    listed: list[str] = []
    bound: set[str] = set()
    body = ast.parse(path.read_text()).body
    late = [node for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    helpers = {"TYPE_CHECKING", "lazy_room"} if late else set()
    for node in (*body, *(inner for block in late for inner in block.body)):
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            bound.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if names == ["__all__"]:
                listed = ast.literal_eval(node.value)
            else:
                bound.update(names)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            bound.add(node.target.id)
    return listed, {name for name in bound - helpers if not name.startswith("_") or name == "__version__"}


INITS = [
    CORE / "__init__.py",
    *sorted(CORE.glob("*/__init__.py")),
    *(path for base in (ADAPTERS, PLUGINS) for path in sorted(base.glob("*/drynpu_*/__init__.py"))),
]


@pytest.mark.parametrize("init", INITS, ids=lambda path: path.parent.name)
def test_public_names_are_exactly_those_in_all(init: Path) -> None:
    listed, bound = public_names(init)
    assert len(listed) == len(set(listed))
    assert set(listed) == bound
    assert ast.get_docstring(ast.parse(init.read_text())), "a room says what it is for"


@pytest.mark.parametrize(
    "init", [path for path in INITS if path.is_relative_to(CORE)], ids=lambda path: path.parent.name
)
def test_public_names_exist(init: Path) -> None:
    package = ".".join(init.parent.relative_to(CORE.parent).parts)
    module = importlib.import_module(package)
    assert [name for name in public_names(init)[0] if not hasattr(module, name)] == []


def test_rooms_of_adapters_have_what_they_export() -> None:
    for init in sorted(path for base in (ADAPTERS, PLUGINS) for path in base.glob("*/drynpu_*/*/__init__.py")):
        listed, bound = public_names(init)
        assert {name for name in listed if not name.startswith("_")} <= bound, init


@pytest.mark.parametrize("folder", ["core", "adapters", "plugins", "tests", "examples", "benchmarks"])
def test_no_file_is_too_long(folder: str) -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in sources(ROOT / folder)}
    assert {str(path): lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


PLATFORM_NUMBERS = {str(number) for number in range(17)}
NO_PLATFORMS = {
    "plugins/mindspore_like/mindspore_like/log.py",  # levels of a log
    "adapters/tf/drynpu_tf/bridge/utilities.py",  # modes of a tuner
    "adapters/tf/drynpu_tf/device2/options.py",  # values of vendor options
    "adapters/torch/drynpu_torch/device/npu/_settings.py",  # levels of a vendor variable
}
"""Files with collections of digits that number something else."""


def platform_numbers(tree: ast.AST) -> Iterator[int]:
    """Lines with a collection of platform numbers, or where what is named a platform or chip is one, or compared."""
    for node in ast.walk(tree):
        named: list[tuple[str, ast.expr | None]] = []
        if isinstance(node, (ast.Set, ast.Tuple, ast.List, ast.Dict)):
            parts = node.keys if isinstance(node, ast.Dict) else node.elts
            if sum(isinstance(part, ast.Constant) and part.value in PLATFORM_NUMBERS for part in parts) > 1:
                yield node.lineno
        elif isinstance(node, ast.Compare):
            texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            if "platform" in ast.unparse(node).lower() and PLATFORM_NUMBERS & {text for text in texts if text}:
                yield node.lineno
        elif isinstance(node, ast.FunctionDef):
            takes = node.args
            plain = [*takes.posonlyargs, *takes.args]
            named += [(arg.arg, value) for arg, value in zip(plain[::-1], takes.defaults[::-1], strict=False)]
            named += [(arg.arg, value) for arg, value in zip(takes.kwonlyargs, takes.kw_defaults, strict=True)]
        elif isinstance(node, ast.Assign):
            named += [(ast.unparse(target), node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign):
            named.append((ast.unparse(node.target), node.value))
        elif isinstance(node, ast.Call):
            named += [(keyword.arg or "", keyword.value) for keyword in node.keywords]
        for name, value in named:
            about = "platform" in name.lower() or "chip" in name.lower()
            if about and isinstance(value, ast.Constant) and value.value in PLATFORM_NUMBERS:
                yield value.lineno


def test_only_the_room_of_platforms_knows_their_numbers() -> None:
    """What differs from platform to platform is a property in platforms.yaml."""
    wrong = [
        f"{name}:{line}"
        for base in (CORE, ADAPTERS, PLUGINS)
        for path in sources(base)
        if (name := str(path.relative_to(ROOT))) not in NO_PLATFORMS and path.parent != CORE / "platforms"
        for line in platform_numbers(ast.parse(path.read_text()))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('_WIDE = ("1", "2")', 1),
        ('_NAMES = {"0": 16, "7": 16}', 1),
        ('newer = profile.platform_version == "5"', 1),
        ('newer = profile.platform_version in ("5",)', 1),
        ('def read(text, chip="5"): ...', 1),
        ('def read(*, chip: str = "5"): ...', 1),
        ('_DEFAULT_PLATFORM = "5"', 1),
        ('parse(text, chip="15")', 1),
        ('yes = value in ("1", "true")', 0),
        ("sizes = (1, 2)", 0),
    ],
)
def test_platform_numbers_are_found(code: str, found: int) -> None:
    assert len(list(platform_numbers(ast.parse(code)))) == found
