"""Reading ``custom_optimizers["NpuOptimizer"].parameter_map`` (tf_adapters.md 1.4, 1.5), and the precision in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from attrs import field, frozen

from drynpu_tf.foreign import ConfigProto
from drynpu_tf.rules import Precision, read_precision

OPTIMIZER_NAME = "NpuOptimizer"
"""The custom optimizer of a ``ConfigProto`` whose parameters are the options of the device."""
PRECISION_NOTE: Final = (
    "precision_mode changes types and times of kernels alone: the CPU computes in the types of the graph"
)
"""What readers of a profile have to know of a precision that is not the graph's."""


def _frozen_map(values: Mapping[str, object]) -> Mapping[str, object]:
    return MappingProxyType(dict(values))


@frozen(kw_only=True)
class NpuOptions:
    """
    The options of one session, as the device's side reads them.

    Attributes
    ----------
    present:
        Whether the ConfigProto has an ``NpuOptimizer`` at all; without one the session stays on the host.
    use_off_line:
        Whether the graph goes to the device; False leaves it on the host.
    profiling_mode:
        Whether to profile; ``None`` where the script leaves it to the environment.
    profiling_options:
        The options as given; ``None`` where there are none.
    iterations_per_loop:
        Training steps that one run makes on a device.
    enable_data_pre_proc:
        Whether a graph takes its data from a queue on the device, which the host fills from the iterator.
    session_device_id:
        The device of this session; ``None``: the process's device.
    parameters:
        Every parameter by name, each by the member that was set; unknown names are kept and mean nothing.
    """

    present: bool = False
    use_off_line: bool = True
    profiling_mode: bool | None = None
    profiling_options: bytes | None = None
    iterations_per_loop: int = 1
    enable_data_pre_proc: bool = False
    session_device_id: int | None = None
    parameters: Mapping[str, object] = field(default={}, converter=_frozen_map)

    @property
    def on_device(self) -> bool:
        """Whether the session's graphs run on the device."""
        return self.present and self.use_off_line


def npu_options_of(config: ConfigProto) -> NpuOptions:
    """
    Read the options of a ``ConfigProto``; ``None`` has none.

    As on the device's side, the first custom optimizer called exactly ``NpuOptimizer`` counts, unknown parameters are
    passed over, and a value that was set through the wrong member of its oneof reads as that member's default.
    """
    if config is None:
        return NpuOptions()
    for optimizer in config.graph_options.rewrite_options.custom_optimizers:
        if optimizer.name == OPTIMIZER_NAME:
            return _read(optimizer.parameter_map)
    return NpuOptions()


def _read(parameters: Any) -> NpuOptions:
    values = {name: _value(parameters[name]) for name in sorted(parameters)}

    def read(name: str, member: str, default: Any) -> Any:
        return getattr(parameters[name], member) if name in values else default

    return NpuOptions(
        present=True,
        use_off_line=read("use_off_line", "b", True),
        profiling_mode=read("profiling_mode", "b", None),
        profiling_options=read("profiling_options", "s", None) or None,
        iterations_per_loop=int(read("iterations_per_loop", "i", 1)),
        enable_data_pre_proc=read("enable_data_pre_proc", "b", False),
        session_device_id=read("session_device_id", "i", None),
        parameters=values,
    )


def _value(attribute: Any) -> object:
    """Return the member of an ``AttrValue`` that is set, whichever it is; ``None`` for an empty one."""
    member = attribute.WhichOneof("value")
    return None if member is None else getattr(attribute, member)


def precision_of(get: Callable[[str], Any]) -> Precision | None:
    """Return the precision of options, which *get* returns by name, as text or bytes; ``None`` where types stay."""

    def text(name: str) -> str:
        value = get(name)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")

    return read_precision(text("precision_mode") or text("precision_mode_v2"), text("modify_mixlist"))
