"""How a facade gets the modules and names that plugins add to it."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from drynpu._plugin_choice import PLUGINS_VARIABLE, needs_plugin
from drynpu._say import say_once
from drynpu.plugins._manager import build_manager, from_plugins


def join_parts(package: str, module: ModuleType | None = None) -> dict[str, object]:
    """
    Let a package of a facade, which is being imported, find the modules of plugins; return the names that it gets.

    *module* is the package, if the facade is not imported yet and it has another name.
    Its ``__getattr__`` is asked about the others. A part that cannot be imported costs a line and nothing else.
    """
    names: dict[str, object] = {}
    module = module or sys.modules[package]
    path = module.__path__
    for plugin, part in from_plugins(lambda plugins: plugins.facade_parts(package)):
        path.append(str(part.folder))
        try:
            named = import_module(f"{module.__name__}.{part.names}")
            joined = {name: getattr(named, name) for name in named.__all__}
        except Exception as error:  # noqa: BLE001 - code of another project; the facade serves the rest
            path.remove(str(part.folder))
            reason = f"cannot be imported: {type(error).__name__}: {error}"
            advice = f"set {PLUGINS_VARIABLE}=-{plugin} to run without it"
            say_once(f"what the plugin {plugin!r} adds to {package} {reason}; {advice}")
        else:
            names.update(joined)
    return names


def missing_part(name: str, plugin: str) -> AttributeError:
    """
    Return the error for a name of a facade that the bundled plugin *plugin* may add.

    Where that plugin is off, its text names it, and a line says so once. Where it is on it has no such name.
    Python replaces the text of the error where a script says ``from package import name``. It asks so for a module
    before it imports it; of one that is there nothing is said.
    """
    if plugin not in build_manager(record_problems=True).switched_off:
        module, _, attribute = name.rpartition(".")
        return AttributeError(f"module {module!r} has no attribute {attribute!r}")
    text = needs_plugin(name, plugin)
    if not _is_module(name):
        say_once(text)
    return AttributeError(text)


def _is_module(name: str) -> bool:
    # Only in a package of ours: to look into another object, as torch.ops.npu is, would add names to it.
    if name.rpartition(".")[0] not in sys.modules:
        return False
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
