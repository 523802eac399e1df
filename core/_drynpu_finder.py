"""
The finder of the vendor's names, which ``zz_drynpu.pth`` puts at the end of ``sys.meta_path`` at every start of Python.

Packages look whether there is an NPU by looking for ``torch_npu``. Where drynpu is merely installed they must not find
it, so the finder shows the facades to the user's code alone, and to everybody once the NPU is in use: see
:func:`_is_visible` and docs/facades.md. It stands outside ``drynpu`` and imports next to nothing, because every start
of Python pays for it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution, DistributionFinder
    from types import FrameType, ModuleType

NAMES = ("acl", "aclruntime", "ais_bench", "apex", "hccl", "mspti", "mstx", "npu_bridge", "npu_device", "torch_npu")
"""The facades of drynpu's adapters and plugins."""
_PLUGIN_OF = {
    "aclruntime": "offline_inference",
    "ais_bench": "offline_inference",
    "apex": "apex",
    "mspti": "mspti",
    "mstx": "mspti",
}
"""The plugin that serves a facade; the other facades are adapters'."""
_PART_OF = {
    "acl.media": "offline_inference",
    "npu_bridge.estimator.npu.npu_dynamic_rnn": "tf1_contrib",
    "npu_bridge.estimator.npu.npu_rnn": "tf1_contrib",
    "torch_npu._operator_names": "torch_operators",
    "torch_npu.atb": "torch_operators",
    "torch_npu.contrib.function": "torch_operators",
    "torch_npu.contrib.module": "torch_operators",
    "torch_npu.contrib.transfer_to_npu": "transfer",
    "torch_npu.dynamo": "torch_operators",
    "torch_npu.multiprocessing": "torch_sharing",
    "torch_npu.npu._npugraph_handlers": "torch_graphs",
    "torch_npu.npu._sanitizer": "races",
    "torch_npu.npu._stream_check": "races",
    "torch_npu.npu.graphs": "torch_graphs",
    "torch_npu.op_plugin": "torch_operators",
    "torch_npu.optim": "apex",
    "torch_npu.testing": "torch_operators",
    "torch_npu.utils.combine_tensors": "apex",
    "torchair": "torch_operators",
}
"""The plugin that adds a module to an adapter's facade."""
_JOINED = {
    "apex": "torch_npu",
    "offline_inference": "acl",
    "races": "torch_npu",
    "tf1_contrib": "npu_bridge",
    "torch_graphs": "torch_npu",
    "torch_operators": "torch_npu",
    "torch_sharing": "torch_npu",
    "transfer": "torch_npu",
}
"""The facade that modules of a plugin join."""
_ABSENT = {
    "msmemscope": "record memory with profile_memory of torch_npu.profiler, and read memory_record.csv",
    "msprof_analyze": "pip install msprof-analyze: it reads what drynpu writes (docs/consumers.md)",
    "mskpp": "drynpu predict says what kernels take",
    "mskl": "drynpu predict says what kernels take",
    "msopgen": "operators of your own join by the hook drynpu_kernel_rules (docs/plugins.md)",
    "tbe": "operators of your own join by the hook drynpu_kernel_rules (docs/plugins.md)",
    "te": "operators of your own join by the hook drynpu_kernel_rules (docs/plugins.md)",
}
"""Packages of the toolkit that have no facade, and what does their work here."""
_APEX = "apex"
# They look for apex to take NVIDIA's kernels from it, and are often run from a checkout.
_APEX_SEEKERS = ("megatron", "mindspeed", "mindspeed_llm")
_HERE = os.path.dirname(os.path.abspath(__file__))
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
# They import, or look for a distribution, on behalf of the code that calls them.
_GO_BETWEENS = ("_pytest", "importlib_metadata", "pluggy")
# The outermost code of a process in which pip builds a package: the frontend of PEP 517, and what came before.
_BUILDS = (f"{os.sep}_in_process.py", "<pip-setuptools-caller>")
_DRYNPU = (
    "_drynpu_finder",
    "drynpu",
    "mindspore_like",
    *NAMES,
)


class FacadeFinder:
    """A finder of the facades and of the metadata of the distribution ``torch-npu``."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.folders = tuple(folders)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the facade's spec if *name* is a facade that the importing code may see."""
        if name in _PART_OF and self._serves(_JOINED[_PART_OF[name]]):
            _say_off(name, _PART_OF[name])  # whoever asks here has not found it in the facade
            return None
        if path is not None or name not in (*NAMES, *_ABSENT) or not _is_visible(name, sys._getframe(1)):
            return None
        if name in _ABSENT:
            _say_absent(name)
            return None
        if name in _PLUGIN_OF and not _is_on(name, _PLUGIN_OF[name]):
            return None
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, self.folders, target)

    def _serves(self, facade: str) -> bool:
        """Return whether the package *facade*, where it is imported, is drynpu's and not a genuine one."""
        return str(getattr(sys.modules.get(facade), "__file__", "")).startswith(self.folders)

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Sequence[Distribution]:
        """Return the distribution ``torch-npu`` if it fits *context* and the code that looks for it may see it."""
        name = getattr(context, "name", None)
        if name is not None and name.lower().replace("_", "-").replace(".", "-") != "torch-npu":
            return ()
        if not _is_visible("torch_npu", sys._getframe(1)):
            return ()
        from drynpu._distribution import find_distribution

        return find_distribution(self.folders)


def install() -> FacadeFinder:
    """Put the finder at the end of ``sys.meta_path``, behind what finds genuine packages, unless it is there."""
    for finder in sys.meta_path:
        if isinstance(finder, FacadeFinder):
            return finder
    ours = FacadeFinder(_facade_folders())
    sys.meta_path.append(ours)
    return ours


def served_folders() -> tuple[str, ...]:
    """Return the folders whose facades this process serves through the finder: none where no ``.pth`` is read."""
    return next((finder.folders for finder in sys.meta_path if isinstance(finder, FacadeFinder)), ())


def _facade_folders() -> list[str]:
    """
    Return where the facades are.

    In a wheel an adapter's are inside the core and a plugin's inside its package; in a checkout they stand beside them.
    """
    inside = os.path.join(_HERE, "drynpu", "_vendor")
    if os.path.isdir(inside):
        plugins = sorted(set(_PLUGIN_OF.values()))
        folders = [inside, *(os.path.join(_HERE, f"drynpu_{name}", "_vendor") for name in plugins)]
    else:
        roots = [os.path.join(os.path.dirname(_HERE), name) for name in ("adapters", "plugins")]
        parts = [os.path.join(root, name) for root in roots if os.path.isdir(root) for name in sorted(os.listdir(root))]
        folders = [os.path.join(part, "vendor") for part in parts]
    return [folder for folder in folders if os.path.isdir(folder)]


def _is_on(facade: str, plugin: str) -> bool:
    """Return whether ``DRYNPU_PLUGINS`` lets the plugin of a facade load; where it does not, say so in a line."""
    from drynpu._plugin_choice import chosen_plugins

    if chosen_plugins().allows(plugin):
        return True
    _say_off(facade, plugin)
    return False


def _say_off(name: str, plugin: str) -> None:
    from drynpu._plugin_choice import needs_plugin
    from drynpu._say import say_once

    say_once(needs_plugin(name, plugin))


def _say_absent(name: str) -> None:
    from drynpu._say import say_once

    say_once(f"{name!r} of the toolkit is not served; {_ABSENT[name]}.")


# N29, docs/tricks.md
def _is_visible(name: str, frame: FrameType | None) -> bool:
    """
    Return whether the code that runs in *frame* may see the facade *name*.

    It may where the whole process works with the NPU: ``DRYNPU_AUTOLOAD=1``, which ``drynpu run`` sets, or the
    facade or ``torch_npu`` is imported already. Otherwise it may if the innermost code outside the standard library
    is the user's and not an installed package's. Only the standard library on the stack is ``python -m torch_npu``.
    What pip builds unpacks itself into a temporary folder, but is a package all the same.

    Packages take finding ``apex`` for having CUDA, so it needs both: the NPU in use, and the user's code.
    """
    in_use = os.environ.get("DRYNPU_AUTOLOAD") == "1" or name in sys.modules or "torch_npu" in sys.modules
    in_use = in_use and name not in _ABSENT  # packages try them, and do without
    if name != _APEX and in_use:
        return True
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        file = frame.f_code.co_filename
        if file != __file__ and package not in _GO_BETWEENS and not _is_standard(file):
            if package in _DRYNPU or package.startswith("drynpu_"):
                return True
            if name == _APEX and (not in_use or package in _APEX_SEEKERS):
                return False
            return not (_is_in_package(file, frame) or _is_built(frame))
        frame = frame.f_back
    return True


def _is_standard(file: str) -> bool:
    if file.startswith("<frozen "):
        return True
    return file.startswith(_STANDARD_LIBRARY) and not any(part in file for part in _INSTALLED)


def _is_in_package(file: str, frame: FrameType) -> bool:
    """Return whether the code in *frame* belongs to an installed package; code without a file is a console's."""
    if file.startswith("<"):
        file = str(frame.f_globals.get("__file__") or "")
    if any(part in file for part in _INSTALLED):
        return True
    if frame.f_globals.get("__name__") == "__main__":
        return False
    # pip install --target: packages lie in a folder of any name, beside their metadata.
    roots = [entry for entry in sys.path if entry and file.startswith(entry.rstrip(os.sep) + os.sep)]
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(max(roots, key=len)))
    except (OSError, ValueError):
        return False


def _is_built(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.endswith(_BUILDS):
            return True
        frame = frame.f_back
    return False
