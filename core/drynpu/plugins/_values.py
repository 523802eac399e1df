"""The values that pass between hooks and the rooms that call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from importlib.abc import Loader
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from attrs import field, frozen

# `kernels` and `tables` come after this room, so the hooks name their types only in words: the signature and the
# plan of drynpu.kernels, the profile of drynpu.tables.
KernelRule: TypeAlias = Callable[[Any], Any]
"""``rule(signature: drynpu.kernels.Signature) -> drynpu.kernels.KernelPlan | None``; ``None`` = not this one."""

Exporter: TypeAlias = Callable[[Any, Path], Sequence[Path]]
"""``exporter(profile: drynpu.tables.Profile, out_dir: Path) -> Sequence[Path]``: the files that were written."""


@frozen(kw_only=True)
class Facade:
    """A vendor module that an adapter stands in for."""

    module: str
    """Top-level module name, e.g. ``torch_npu``."""
    framework: str
    """Top-level module that has to be installed for the facade to work, e.g. ``torch``."""
    extra: str
    """Extra of drynpu (or of the adapter's own distribution) that brings the framework."""
    folder: Path
    """The folder that has to be on ``sys.path`` for *module* to be found."""
    note: Callable[[], str] | None = None
    """What else ``drynpu doctor`` says where the framework is there, e.g. what could be built."""
    mend: Callable[[], str] | None = None
    """
    Does what the note advises, for ``drynpu doctor --fix``: returns what was done, "" where nothing was to do, and
    raises `CommandError` where it cannot be done.
    """


@frozen(kw_only=True)
class FacadePart:
    """Modules and names that a plugin adds to a package of an adapter's facade."""

    package: str
    """The package that gets them, e.g. ``torch_npu``."""
    folder: Path
    """The folder of the modules; it joins the package's ``__path__``, behind the facade's own."""
    names: str
    """The module in the folder whose ``__all__`` lists the names that the package gets, too."""


def facade_folder(plugin_file: str) -> Path:
    """
    Return where the facades of a bundled adapter or plugin are.

    In a wheel an adapter's are inside the core, and a plugin's inside its package; in a checkout they stand
    beside them.

    *plugin_file* is the ``__file__`` of the module with the hooks.
    """
    installed = (Path(plugin_file).parent / "_vendor", Path(__file__).parents[1] / "_vendor")
    return next((folder for folder in installed if folder.is_dir()), Path(plugin_file).parents[1] / "vendor")


@frozen(kw_only=True)
class RecordedCalls:
    """How the operators of genuine profiles are read."""

    read: Callable[[str, str, str], Any]
    """
    ``read(name, dtypes, shapes) -> drynpu.kernels.Signature``: from the texts of a profile, ``;`` between arguments.
    """
    fallbacks: tuple[KernelRule, ...] = ()
    """Rules for operators without one of their name, in the order in which they are tried."""


@frozen(kw_only=True)
class StandIn:
    """A package that ``drynpu run`` serves under the name of a framework that is not installed."""

    framework: str
    """Top-level module of the framework, e.g. ``mindspore``."""
    module: str
    """The module that is served, under a name of its own, e.g. ``mindspore_like``."""
    extra: str
    """Extra of drynpu (or of the adapter's own distribution) that brings the framework."""
    loader: Callable[[], Loader]
    """Makes what loads the module under the framework's name; the framework's adapter calls it."""


@frozen(kw_only=True)
class Probe:
    """A tiny program by which ``drynpu doctor`` sees that a surface works."""

    surface: str
    """What is tried, as the doctor names it: ``PyTorch, native device``."""
    code: str
    """Runs under ``drynpu run``, raises where something is wrong. A line ``without: X`` names what it does without."""
    framework: str = ""
    """Top-level module that has to be installed; empty where none has."""
    extra: str = ""
    """Extra of drynpu (or of the adapter's own distribution) that brings the framework."""
    advice: str
    """What to do where it fails."""
    environment: Mapping[str, str] = field(factory=dict)
    """Variables that it needs."""
    missing: Callable[[], str] | None = None
    """Returns what else is not there and how to get it, so that the program is not run; "" where nothing is."""


@frozen(kw_only=True)
class Activation:
    """What ``drynpu run`` is about to start."""

    script: Path
    argv: tuple[str, ...]
    """``sys.argv`` of the script, its own name first."""
    environment: MutableMapping[str, str]
    """The environment that the script will see; a plugin may add to it."""


class BlockRecorder(Protocol):
    """Records a block of code with a framework's profiler, for tests and notebooks."""

    def start(self) -> None:
        """Begin to record every step, with shapes and memory."""

    def step(self) -> None:
        """End a step."""

    def stop(self) -> None:
        """End the recording and write its result directory below the recorder's folder."""
