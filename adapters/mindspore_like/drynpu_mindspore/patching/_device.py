"""The device that a script sees beside the CPU that computes, and what MindSpore's modules answer for it."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from drynpu_mindspore.target import ASCEND, CPU

_NAMES_OF_ASCEND = (ASCEND, "Davinci")

_ONLY_ON_ASCEND = frozenset(
    {
        "ascend_config",
        "enable_reduce_precision",
        "max_device_memory",
        "mempool_block_size",
        "print_file_path",
        "variable_memory_max_size",
    }
)
"""Options that MindSpore's CPU build ignores with a warning."""

_GRAPH_MODE = 0
_KERNEL_BY_KERNEL = "O0"


def chosen_device_id() -> int:
    """Return what ``DEVICE_ID`` in the environment says, 0 without a number."""
    text = os.environ.get("DEVICE_ID", "0")
    return int(text) if text.isdigit() else 0


@define
class SimulatedDevice:
    """
    The device settings of a script, and the answers to its questions about the device.

    MindSpore itself goes on to see the CPU: its library chooses kernels by the device, and the CPU's kernels are what
    computes. Only code outside the package ``mindspore`` is told of the device.

    Attributes
    ----------
    target, device_id:
        The device and its number; a machine with NPUs starts with the first of them.
    jit_level:
        As the script set it; empty where it did not.
    kept:
        Options that have a meaning on Ascend only, by name.
    before_graphs:
        Called when a script on Ascend chooses GRAPH mode: graphs are compiled from then on.
    """

    device_target: str = ASCEND
    device_id: int = 0
    jit_level: str = ""
    kept: dict[str, Any] = field(factory=dict)
    before_graphs: list[Callable[[], None]] = field(factory=list)

    @property
    def is_ascend(self) -> bool:
        """Whether the script runs on the simulated device."""
        return self.device_target == ASCEND

    def set_context(self, genuine: Callable[..., None]) -> Callable[..., None]:
        """Return ``set_context`` for scripts."""

        @functools.wraps(genuine)
        def set_context(**kwargs: object) -> None:
            if is_mindspores_own(sys._getframe(1).f_globals.get("__name__", "")):
                genuine(**kwargs)
                return
            genuine(**self._for_the_cpu(kwargs))
            self._remember(kwargs)
            if self.is_ascend and kwargs.get("mode") == _GRAPH_MODE:
                for each in self.before_graphs:
                    each()

        return set_context

    def set_device(self, genuine: Callable[..., None]) -> Callable[..., None]:
        """Return ``set_device`` for scripts."""

        @functools.wraps(genuine)
        def set_device(device_target: str, device_id: int | None = None) -> None:
            if device_target not in _NAMES_OF_ASCEND:
                genuine(device_target, device_id)
                self.device_target = device_target
                return
            if isinstance(device_id, int) and not isinstance(device_id, bool) and device_id >= 0:
                genuine(CPU)
                self.device_id = device_id
            else:
                genuine(CPU, device_id)
            self.device_target = ASCEND

        return set_device

    def move_to(self, genuine: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``Tensor.move_to``: to the simulated device is where a tensor is already."""

        @functools.wraps(genuine)
        def move_to(tensor: Any, to: str, blocking: bool = True) -> Any:
            return genuine(tensor, CPU if self.is_ascend and to == ASCEND else to, blocking)

        return move_to

    def get_context(self, genuine: Callable[[str], Any]) -> Callable[[str], Any]:
        """Return ``get_context``, which tells scripts of the device and MindSpore of the CPU."""

        @functools.wraps(genuine)
        def get_context(attr_key: str) -> Any:
            if self.is_ascend and not is_mindspores_own(sys._getframe(1).f_globals.get("__name__", "")):
                if attr_key == "device_target":
                    return self.device_target
                if attr_key == "device_id":
                    return self.device_id
                if attr_key == "jit_level" and self.jit_level:
                    return self.jit_level
                if attr_key in self.kept:
                    return self.kept[attr_key]
            return genuine(attr_key)

        return get_context

    def _for_the_cpu(self, script_options: Mapping[str, object]) -> dict[str, Any]:
        """Return the options of a script as the CPU build can take them."""
        options = dict(script_options)
        device_target = script_options.get("device_target", self.device_target)
        if device_target not in _NAMES_OF_ASCEND:
            return options
        # Every `drynpu run` imports this module, and the room of products takes longer than all the rest of it.
        from drynpu.products.mindspore import WHOLE_GRAPH

        if "device_target" in options:
            options["device_target"] = CPU
        for name in _ONLY_ON_ASCEND & options.keys():
            del options[name]
        # Running a graph as a whole is what the CPU build does not offer.
        if options.get("jit_level") == WHOLE_GRAPH:
            options["jit_level"] = _KERNEL_BY_KERNEL
        config = options.get("jit_config")
        if isinstance(config, dict) and config.get("jit_level") == WHOLE_GRAPH:
            options["jit_config"] = {**config, "jit_level": _KERNEL_BY_KERNEL}
        return options

    def _remember(self, options: Mapping[str, Any]) -> None:
        """Keep the values of a script's ``set_context``, now that MindSpore has accepted them."""
        device_target = options.get("device_target")
        if isinstance(device_target, str):
            self.device_target = ASCEND if device_target in _NAMES_OF_ASCEND else device_target
        self.device_id = options.get("device_id", self.device_id)
        config = options.get("jit_config")
        self.jit_level = options.get(
            "jit_level", config.get("jit_level", self.jit_level) if isinstance(config, dict) else self.jit_level
        )
        if self.is_ascend:
            self.kept.update({name: options[name] for name in _ONLY_ON_ASCEND & options.keys()})


_AS_SCRIPTS = frozenset({"mindspore.train.amp"})
"""Modules of MindSpore that refuse on the CPU what its kernels, with those that drynpu adds, compute."""


# N16, docs/tricks.md
def is_mindspores_own(module: str) -> bool:
    """Return whether a module of this name is one that MindSpore's library has to look like the CPU to."""
    return (module == "mindspore" or module.startswith("mindspore.")) and module not in _AS_SCRIPTS


Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


def answers(
    device: SimulatedDevice, *, chip: str, devices: int, synchronize: Callable[[], None]
) -> Mapping[str, Mapping[str, Wrapper]]:
    """
    Return, by module and name, what makes a function answer for the device from the function of the CPU build.

    Parameters
    ----------
    chip, devices:
        The simulated chip's name and how many the script sees.
    synchronize:
        Waits until everything that was called has run.
    """
    yes, count, waits = _about(device, True), _about(device, devices), _calling(synchronize)
    # An event or a stream sets up the CPU's device, and so does the first operator, on another thread. MindSpore does
    # not guard the two against each other: about one process in 50 ended in a segmentation fault.
    settle_in = functools.cache(lambda _: synchronize())

    def settle() -> None:
        settle_in(os.getpid())  # a forked process sets its device up anew

    settled, settles = _about(device, True, before=settle), _after(settle)
    return {
        "mindspore.hal": {
            "is_available": yes,
            "is_initialized": yes,
            "device_count": count,
            "get_device_name": _about(device, chip),
            "synchronize": waits,
        },
        "mindspore.runtime": {"synchronize": waits},
        "mindspore.runtime.event": {"_is_supported": settled},
        "mindspore.runtime.stream": {"_is_supported": settled},
        "mindspore.hal.event": {"Event.__init__": settles},
        "mindspore.hal.stream": {"Stream.__init__": settles, "current_stream": settles, "default_stream": settles},
        "mindspore.device_context.ascend": {"is_available": yes, "device_count": count},
    }


def _about(device: SimulatedDevice, answer: object, before: Callable[[], object] = tuple) -> Wrapper:
    """Return a wrapper that calls *before* and answers for Ascend, named or chosen; else it asks the CPU build."""

    def replace(genuine: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(genuine)
        def call(*args: object, **kwargs: object) -> Any:
            named = kwargs.get("device_target") or next((each for each in args if isinstance(each, str)), None)
            if (named or device.device_target) == ASCEND:
                before()
                return answer
            return genuine(*args, **kwargs)

        return call

    return replace


def _after(before: Callable[[], object]) -> Wrapper:
    def replace(genuine: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(genuine)
        def call(*args: object, **kwargs: object) -> object:
            before()
            return genuine(*args, **kwargs)

        return call

    return replace


def _calling(instead: Callable[[], None]) -> Wrapper:
    def replace(genuine: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(genuine)
        def call() -> None:
            instead()

        return call

    return replace
