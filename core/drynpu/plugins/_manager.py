"""The plugin manager: thin typed methods, one per hook, over pluggy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from drynpu._errors import PluginError
from drynpu._plugin_choice import PLUGINS_VARIABLE, PluginChoice, chosen_plugins, needs_plugin
from drynpu._say import say_once
from drynpu.plugins import _spec
from drynpu.plugins._checks import check_hooks
from drynpu.plugins._discovery import Candidate, candidates, unknown_plugin
from drynpu.plugins._markers import ENTRY_POINT_GROUP, PROJECT
from drynpu.plugins._values import (
    Activation,
    BlockRecorder,
    Exporter,
    Facade,
    FacadePart,
    KernelRule,
    Probe,
    RecordedCalls,
    StandIn,
)

if TYPE_CHECKING:
    import click

T = TypeVar("T")


class Plugins:
    """
    The plugins of one run. Make it with :func:`build_manager`; make as many as you like, they share nothing.

    Installed plugins are known by name at once but imported only when asked for: :meth:`adapter` imports one,
    every other method imports all that are left.
    """

    def __init__(
        self,
        installed: Mapping[str, Candidate],
        switched_off: Mapping[str, Candidate] | None = None,
        *,
        record_problems: bool = False,
    ) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(_spec)
        self._waiting = dict(installed)
        self._installed = dict(installed)
        self._off = dict(switched_off or {})
        self._record_problems = record_problems
        self._problems: dict[str, PluginError] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Every plugin, imported or not: bundled ones first, then external ones by name."""
        extra = [name for name, _ in self._manager.list_name_plugin() if name not in self._installed]
        return (*self._installed, *extra)

    @property
    def loaded(self) -> tuple[str, ...]:
        """The plugins that have been imported and registered, in the order of :attr:`names`."""
        return tuple(name for name in self.names if self._manager.has_plugin(name))

    @property
    def switched_off(self) -> tuple[str, ...]:
        """The plugins that ``DRYNPU_PLUGINS`` leaves out, and bundled ones whose package is not here."""
        return tuple(self._off)

    @property
    def problems(self) -> tuple[PluginError, ...]:
        """What went wrong so far, where problems are recorded instead of raised (``drynpu doctor``)."""
        return tuple(self._problems.values())

    def place(self, name: str) -> str:
        """Return where a plugin comes from, for people: entry point and distribution."""
        candidate = self._installed.get(name)
        return candidate.place if candidate else f"plugin {name!r} (passed in)"

    def register(self, plugin: object, name: str) -> None:
        """
        Add a plugin object (a module or any object with hook methods) under *name*.

        Raises
        ------
        PluginError
            A name that is taken, a misspelt hook, a missing marker or an unknown parameter.
        """
        place = self.place(name)
        if self._manager.has_plugin(name):
            raise PluginError(f"{place}: a plugin of this name is registered already")
        check_hooks(plugin, place)
        try:
            self._manager.register(plugin, name)
        except pluggy.PluginValidationError as error:
            if self._manager.has_plugin(name):
                self._manager.unregister(name=name)
            raise PluginError(f"{place}: {' '.join(str(error).split())}") from error

    def adapter(self, name: str) -> object:
        """
        Import one plugin, if that has not been done, and return it.

        Raises
        ------
        PluginError
            No such plugin, its import fails, or it does not pass the checks of :meth:`register`.
        """
        candidate = self._waiting.pop(name, None)
        if candidate is not None:
            try:
                self._load(candidate)
            except PluginError as error:
                self._problems[name] = error
                raise
        elif name in self._problems:
            raise self._problems[name]
        plugin: object = self._manager.get_plugin(name)
        if plugin is None:
            raise unknown_plugin(name, self.names, self._off)
        return plugin

    def load_all(self) -> None:
        """
        Import every plugin that has not been imported yet. The command line calls it at start.

        Raises
        ------
        PluginError
            As :meth:`adapter`, for the first plugin that fails; nothing where problems are recorded.
        """
        for name in tuple(self._waiting):
            try:
                self.adapter(name)
            except PluginError:
                if not self._record_problems:
                    raise

    def facades(self) -> tuple[Facade, ...]:
        """Return the vendor modules that the adapters stand in for."""
        return tuple(facade for _, facades in self._ask("drynpu_facades") for facade in facades)

    def facade_parts(self, package: str) -> tuple[tuple[str, FacadePart], ...]:
        """Return what plugins add to a package of a facade, each with the name of the plugin."""
        parts = [(name, part) for name, parts in self._ask("drynpu_facade_parts") for part in parts]
        return tuple((name, part) for name, part in parts if part.package == package)

    def device_installed(self, framework: str) -> None:
        """Tell every plugin that the device of a framework is installed in this process."""
        for _ in self._ask("drynpu_device_installed", framework=framework):
            pass

    def stand_ins(self) -> tuple[StandIn, ...]:
        """Return the packages that stand in for frameworks that are not there."""
        return tuple(each for _, stand_ins in self._ask("drynpu_stand_ins") for each in stand_ins)

    def probes(self) -> tuple[Probe, ...]:
        """Return the programs by which the adapters show that their surfaces work."""
        return tuple(each for _, probes in self._ask("drynpu_probes") for each in probes)

    def kernel_rules(self, framework: str) -> dict[str, KernelRule]:
        """
        Return the rules for the operators of a framework (``"torch"``), by operator name.

        Raises
        ------
        PluginError
            Two external plugins have a rule for the same operator. An external rule replaces a bundled one.
        """
        return self._merge("drynpu_kernel_rules", "a rule for the operator", replace_bundled=True, framework=framework)

    def recorded_calls(self, framework: str) -> RecordedCalls | None:
        """Return how operators in genuine profiles of a framework are read; None if no adapter knows."""
        answers = [calls for _, calls in self._ask("drynpu_recorded_calls", framework=framework) if calls is not None]
        return answers[0] if answers else None

    def chip_files(self) -> tuple[Path, ...]:
        """Return the chip descriptions that plugins add to the bundled ones."""
        return tuple(Path(path) for _, paths in self._ask("drynpu_chips") for path in paths)

    def record_groups(self) -> tuple[tuple[str, object], ...]:
        """Return the record groups that plugins add, each with where it comes from."""
        answers = self._ask("drynpu_record_groups")
        return tuple((self.place(name), group) for name, groups in answers for group in groups)

    def products(self) -> tuple[tuple[str, object], ...]:
        """Return the result directories that plugins add, each with where it comes from."""
        answers = self._ask("drynpu_products")
        return tuple((self.place(name), product) for name, products in answers for product in products)

    def pages(self) -> tuple[tuple[str, object], ...]:
        """Return the pages that plugins add, each with where it comes from."""
        return tuple((self.place(name), page) for name, pages in self._ask("drynpu_pages") for page in pages)

    def open_run(self, path: Path) -> object:
        """
        Return a run as the first plugin that can opens it.

        Raises
        ------
        PluginError
            No plugin opens runs.
        """
        for _, run in self._ask("drynpu_open_run", path=path):
            return run
        raise PluginError(needs_plugin("drynpu.open_run", "pages"))

    def exporters(self, *, bundled: bool = True, reserved: Collection[str] = ()) -> dict[str, Exporter]:
        """
        Return the exporters of all plugins by name, or of external plugins alone.

        Parameters
        ----------
        bundled:
            Whether the plugins of this release count.
        reserved:
            Names that no plugin may use.

        Raises
        ------
        PluginError
            Two plugins have an exporter of the same name, or a plugin uses a name of *reserved*.
        """
        exporters = self._merge("drynpu_exporters", "an exporter called", replace_bundled=False)
        owners = {key: name for name, answer in self._ask("drynpu_exporters") for key in answer}
        for key in exporters:
            if key in reserved:
                raise PluginError(
                    f"{self.place(owners[key])}: the exporter {key!r} exists already; choose another name"
                )
        return {key: value for key, value in exporters.items() if bundled or not self._bundled(owners[key])}

    def add_commands(self, group: click.Group) -> None:
        """
        Let every plugin add its verbs to the command line.

        Raises
        ------
        PluginError
            A plugin replaces a verb that is there already.
        """
        for name in self._load_all():
            before = dict(group.commands)
            self._caller("drynpu_cli", name)(group=group)
            for verb, command in before.items():
                if group.commands.get(verb) is not command:
                    group.add_command(command, verb)
                    raise PluginError(f"{self.place(name)}: the verb {verb!r} exists already; choose another name")

    def off_for_verb(self, verb: str) -> str:
        """Return a sentence that names the plugin whose verb this is, where that is switched off; otherwise ``""``."""
        import click

        def has(plugin: Plugins) -> bool:
            group = click.Group()
            plugin.add_commands(group)
            return verb in group.commands

        return self._off_with("a verb", has)

    def off_for_exporter(self, name: str) -> str:
        """Return a sentence that names the plugin with this exporter, where that is switched off; otherwise ``""``."""
        return self._off_with("an exporter", lambda plugin: name in plugin.exporters())

    def _off_with(self, what: str, has: Callable[[Plugins], bool]) -> str:
        for name, candidate in self._off.items():
            if candidate.is_here and has(Plugins({name: candidate}, record_problems=True)):
                return f"It is {what} of the plugin {name!r}, which {PLUGINS_VARIABLE} switches off."
        absent = [name for name, candidate in self._off.items() if not candidate.is_here]
        return f"It may belong to a plugin that is not here: {', '.join(absent)}." if absent else ""

    def block_recorder(self, framework: str, folder: Path) -> BlockRecorder:
        """
        Return what records a block with a framework's profiler below *folder*.

        Raises
        ------
        PluginError
            No plugin records blocks of the framework.
        ImportError
            The framework is not installed.
        """
        for _, recorder in self._ask("drynpu_block_recorder", framework=framework, folder=folder):
            if recorder is not None:
                block_recorder: BlockRecorder = recorder
                return block_recorder
        raise PluginError(f"no plugin records blocks of {framework!r}; installed: {', '.join(self.names)}")

    def activate(self, context: Activation) -> None:
        """Tell every plugin that a script is about to start."""
        for _ in self._ask("drynpu_activate", context=context):
            pass

    def framework_loaded(self, framework: str, loaded: object) -> None:
        """Tell every plugin that a script has imported a framework, and hand over what its adapter has made of it."""
        for _ in self._ask("drynpu_framework_loaded", framework=framework, loaded=loaded):
            pass

    def notebook_opened(self, shell: object) -> None:
        """
        Let every plugin add its magics to the session of a notebook.

        Raises
        ------
        PluginError
            No plugin has any.
        """
        if not list(self._ask("drynpu_notebook_opened", shell=shell)):
            raise PluginError(needs_plugin("%%npu_profile", "blocks"))

    def _load(self, candidate: Candidate) -> None:
        try:
            plugin = candidate.entry_point.load()
        except Exception as error:
            switch = f"; set {PLUGINS_VARIABLE}=-{candidate.name} to run without it"
            advice = switch if candidate.can_be_switched_off else ""
            raise PluginError(
                f"{candidate.place}: cannot be imported: {type(error).__name__}: {error}{advice}"
            ) from error
        self.register(plugin, candidate.name)

    def _load_all(self) -> tuple[str, ...]:
        self.load_all()
        return self.loaded

    def _caller(self, hook: str, name: str) -> pluggy.HookCaller:
        others = [plugin for other, plugin in self._manager.list_name_plugin() if other != name and plugin is not None]
        return self._manager.subset_hook_caller(hook, others)

    def _ask(self, hook: str, **arguments: object) -> Iterator[tuple[str, Any]]:
        """Yield (plugin name, answer) for every plugin that implements *hook*."""
        for name in self._load_all():
            for answer in self._caller(hook, name)(**arguments):
                yield name, answer

    def _merge(self, hook: str, what: str, *, replace_bundled: bool, **arguments: object) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        owners: dict[str, str] = {}
        for name, answer in self._ask(hook, **arguments):
            for key, value in answer.items():
                owner = owners.get(key)
                if owner is not None and not (replace_bundled and self._bundled(owner)):
                    raise PluginError(f"{self.place(owner)} and {self.place(name)} both have {what} {key!r}")
                merged[key], owners[key] = value, name
        return merged

    def _bundled(self, name: str) -> bool:
        candidate = self._installed.get(name)
        return candidate is not None and candidate.bundled


def build_manager(
    names: Collection[str] | None = None,
    *,
    choice: PluginChoice | None = None,
    plugins: Iterable[tuple[str, object]] = (),
    entry_points: Iterable[EntryPoint] | None = None,
    record_problems: bool = False,
) -> Plugins:
    """
    Find the installed plugins, without importing any.

    Parameters
    ----------
    names:
        Consider only these entry points; ``None`` for all.
    choice:
        The plugins that may load; ``None`` takes them from ``DRYNPU_PLUGINS``.
    plugins:
        Pairs of name and object to register at once, beside the installed ones.
    entry_points:
        Where to look instead of the installed distributions.
    record_problems:
        Record plugins that cannot be loaded in :attr:`Plugins.problems` instead of raising when all are asked.

    Raises
    ------
    PluginError
        A name that is not installed or is taken twice, an adapter to be switched off, or a plugin of *plugins* that
        does not pass :meth:`Plugins.register`.
    """
    chosen = chosen_plugins() if choice is None else choice
    manager = Plugins(*candidates(names, chosen, entry_points), record_problems=record_problems)
    for name, plugin in plugins:
        manager.register(plugin, name)
    return manager


def from_plugins(ask: Callable[[Plugins], T]) -> T:
    """
    Return what a recording takes from the installed plugins; one that fails is named in a line and left out.

    A profiler never ends a training, so nothing is raised for a plugin that cannot be imported. Where plugins
    contradict each other, or a hook fails, the plugins of this release answer alone.
    """
    try:
        chosen, off = candidates(None, chosen_plugins(), None)
        manager = _asked_again(tuple(chosen.items()), tuple(off.items()))
        answer = ask(manager)
    except Exception as error:  # noqa: BLE001 - a hook of another project may raise anything
        kind = "" if isinstance(error, PluginError) else f"a plugin failed: {type(error).__name__}: "
        say_once(f"{kind}{error} Installed plugins are left out.")
        points = [point for point in entry_points(group=ENTRY_POINT_GROUP) if point.dist and point.dist.name == PROJECT]
        return ask(build_manager(choice=PluginChoice(), entry_points=points))
    if manager.problems:
        # What cannot be imported now may be there the next time: a framework that is being imported, for example.
        _asked_again.cache_clear()
    for problem in manager.problems:
        say_once(f"{problem} It is left out.")
    return answer


@functools.lru_cache(maxsize=1)
def _asked_again(chosen: tuple[tuple[str, Candidate], ...], off: tuple[tuple[str, Candidate], ...]) -> Plugins:
    """
    Return a manager of these plugins, the same one as long as they are the same.

    A recording asks half a dozen times, and looking at every name of every plugin for hooks takes 6 ms each time.
    """
    return Plugins(dict(chosen), dict(off), record_problems=True)
