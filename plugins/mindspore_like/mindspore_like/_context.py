"""What a script set about its device, and what it is told when it asks."""

from __future__ import annotations

from typing import Any

from attrs import define, field

from drynpu_mindspore.target import ASCEND
from mindspore_like import log

GRAPH_MODE = 0
PYNATIVE_MODE = 1

_TARGETS = ("CPU", "GPU", "Ascend", "Davinci")
_MODES = (GRAPH_MODE, PYNATIVE_MODE)
_MOST_DEVICES = 4095
# Options of MindSpore 2.7 beside the mode and the device: kept, told on request, without effect.
_KEPT = """
aoe_config aoe_tune_mode ascend_config check_bprop debug_level deterministic disable_format_transform
enable_auto_mixed_precision enable_compile_cache enable_graph_kernel enable_reduce_precision env_config_path
exec_order gpu_config grad_for_scalar graph_kernel_flags infer_boost inter_op_parallel_num jit_config
jit_enable_inplace_ops jit_level jit_syntax_level load_compile_cache max_call_depth max_device_memory
memory_offload memory_optimize_level mempool_block_size op_timeout precompile_only print_file_path
pynative_synchronize reserve_class_name_in_scope runtime_num_threads save_compile_cache save_graphs
save_graphs_path variable_memory_max_size
"""
_OPTIONS = frozenset(_KEPT.split())


@define
class Context:
    """
    The device that the script is told of, with the errors of MindSpore's ``set_context`` where a value is none.

    Attributes
    ----------
    target, device_id:
        The device and its number.
    mode:
        Every operator computes when it is called; the mode decides how ``Model.train`` sinks data.
    kept:
        Other options, by name.
    """

    device_target: str = ASCEND
    device_id: int = 0
    mode: int = PYNATIVE_MODE
    kept: dict[str, Any] = field(factory=dict)

    @property
    def jit_level(self) -> str:
        """Return the level that the script set; empty where it set none."""
        config = self.kept.get("jit_config")
        level = self.kept.get("jit_level", config.get("jit_level", "") if isinstance(config, dict) else "")
        return str(level)

    def set_context(self, **kwargs: Any) -> None:
        """Take options of MindSpore's; those that are not about the device are kept without effect."""
        for key, value in kwargs.items():
            if key == "device_target":
                self._choose(value)
            elif key == "device_id":
                self._number(value)
            elif key == "mode":
                self._choose_mode(value)
            elif key in _OPTIONS:
                self.kept[key] = value
            else:
                raise ValueError(
                    f"For 'context.set_context', the keyword argument {key} is not recognized! For detailed "
                    "usage of 'set_context', please refer to the Mindspore official website."
                )

    def get_context(self, attr_key: str) -> Any:
        """Return an option; ``None`` for one that the script has not set."""
        values = {"device_target": self.device_target, "device_id": self.device_id, "mode": self.mode}
        if attr_key in values:
            return values[attr_key]
        if attr_key in _OPTIONS:
            return self.kept.get(attr_key)
        raise ValueError(
            f"For 'context.get_context', the argument {attr_key} is not recognized! For detailed "
            "usage of 'get_context', please refer to the Mindspore official website."
        )

    def set_device(self, device_target: str, device_id: int | None = None) -> None:
        """Choose the device and its number."""
        if device_target not in _TARGETS[:3]:
            raise ValueError(
                f"The argument 'device_target' must be one of {list(_TARGETS[:3])}, but got {device_target}."
            )
        if device_id is not None and device_id < 0:
            raise ValueError("The device id must bigger than or equal to 0.")
        self._choose(device_target)
        self.device_id = device_id or 0

    def _choose(self, device_target: str) -> None:
        if device_target not in _TARGETS:
            raise ValueError(
                f"For 'context.set_context', the argument 'device_target' must be one of {list(_TARGETS)}, "
                f"but got {device_target}."
            )
        if device_target == "GPU":
            raise RuntimeError(
                f"Unsupported device target {device_target}. This process only supports one of the ['Ascend', 'CPU']."
            )
        if device_target == "Davinci":
            log.warning("The device 'Davinci' is deprecated and will be removed in the next version.")
        self.device_target = ASCEND if device_target == "Davinci" else device_target

    def _number(self, device_id: int) -> None:
        if not 0 <= device_id <= _MOST_DEVICES:
            raise ValueError(
                f"For 'context.set_context', the argument 'device_id' must be in range [0, {_MOST_DEVICES}], "
                f"but got {device_id}."
            )
        self.device_id = device_id

    def _choose_mode(self, mode: int) -> None:
        if mode not in _MODES:
            raise ValueError(
                "For 'context.set_context', the argument 'mode' should be context.GRAPH_MODE (0) "
                f"or context.PYNATIVE_MODE (1), but got {mode}."
            )
        self.mode = mode
