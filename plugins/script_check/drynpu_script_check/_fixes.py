"""What to do about hints in scripts of other frameworks than PyTorch, whose words the hints speak."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_CONVERSIONS = "Keep one data type and one layout: mixed precision as a whole, sizes that are multiples of 16."
_FIXES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "tensorflow": {
            "device-waits-for-host": "Give the device more at once: larger batches, several steps in a run"
            " (iterations_per_loop with enable_data_pre_proc); keep input and logging off the path between runs.",
            "synchronising-calls": "Fetch losses and summaries every few steps; several steps in one run"
            " (iterations_per_loop).",
            "tiny-kernels": "Fuse them: npu_bridge's own operators (npu_unary_ops), mixed precision, larger batches.",
            "conversions": _CONVERSIONS,
        },
        "mindspore": {
            "device-waits-for-host": "Launch less: graph mode (mindspore.jit), dataset sink mode, larger batches; keep"
            " Python, input and callbacks off the path between launches.",
            "synchronising-calls": "Call asnumpy() every few steps; a callback that prints each loss waits each step.",
            "tiny-kernels": "Fuse them: graph mode (mindspore.jit) fuses what follows each other; fused optimizers.",
            "conversions": _CONVERSIONS,
            "fragmentation": 'Limit the pool: mindspore.set_context(max_device_memory="..."); fewer shapes.',
        },
        "acl": {
            "device-waits-for-host": "Keep the device busy: acl.mdl.execute_async on a stream, copies beside the runs"
            " on another, larger batches.",
            "synchronising-calls": "acl.mdl.execute_async, and one acl.rt.synchronize_stream for several runs.",
            "tiny-kernels": "Let ATC fuse them, or take larger batches.",
            "conversions": "Convert the model with the layout and type of its inputs (ATC's --input_format).",
        },
    }
)


def find_fix(framework: str, hint: str, usual: str) -> str:
    """Return what to do about a *hint* in a script of *framework*; *usual* is what the hint itself says."""
    return _FIXES.get(framework, {}).get(hint, usual)
