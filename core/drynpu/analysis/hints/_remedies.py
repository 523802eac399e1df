"""What to do about a condition, in the words of the framework that the run used."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.tables import Profile

_NEUTRAL = ""
_REMEDIES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "device-waits-for-host": {
            _NEUTRAL: "Launch less: larger batches, fused operators and optimizers, compiled graphs; and keep Python,"
            " data loading and logging off the path between launches.",
            "torch": "Launch less: larger batches, fused operators and optimizers, graph mode, TASK_QUEUE_ENABLE=2; and"
            " keep Python, data loading and logging off the path between launches.",
            "mindspore": "Launch less: larger batches, graph mode (jit_level O2), dataset_sink_mode; and keep Python,"
            " data loading and callbacks off the path between launches.",
            "tensorflow": "Give the device more at once: larger batches, several steps in a run (iterations_per_loop"
            " with enable_data_pre_proc); keep input and logging off the path between runs.",
            "acl": "Keep the device busy: acl.mdl.execute_async on a stream, copies beside the runs on another, larger"
            " batches.",
        },
        "synchronising-calls": {
            _NEUTRAL: "Read results and losses every few steps; copy asynchronously from pinned memory.",
            "torch": "Avoid .item(), .cpu(), print of tensors and nonzero() in the loop; read losses every few steps;"
            " copy with non_blocking=True from pinned memory.",
            "mindspore": "Avoid asnumpy() and print of tensors in the loop; read losses every few steps.",
            "tensorflow": "Fetch losses and summaries every few steps; several steps in one run (iterations_per_loop).",
            "acl": "acl.mdl.execute_async, and one acl.rt.synchronize_stream for several runs.",
        },
        "conversions": {
            _NEUTRAL: "Keep one data type and one layout: mixed precision without casts in the loop.",
            "torch": "Keep one data type and one layout: contiguous tensors, torch.npu.config.allow_internal_format,"
            " torch_npu.npu_format_cast once for weights, mixed precision without casts in the loop.",
            "mindspore": "Keep one data type and one layout: amp_level in place of casts in the network.",
            "acl": "Convert the model with the layout and type of its inputs (ATC's --input_format).",
        },
        "tiny-kernels": {
            _NEUTRAL: "Fuse them: fused operators and optimizers, compiled graphs.",
            "torch": "Fuse them: fused optimizers (torch_npu.optim.NpuFusedAdamW), foreach optimizers, npu_* fused"
            " operators, graph mode.",
            "mindspore": "Fuse them: graph mode (jit_level O1 or O2), one operator of mindspore.ops for its parts.",
            "tensorflow": "Fuse them: npu_bridge's own operators (npu_unary_ops), mixed precision, larger batches.",
            "acl": "Let ATC fuse them, or take larger batches.",
        },
        "fragmentation": {
            _NEUTRAL: "Fewer shapes, and memory that is freed as soon as it is not used.",
            "torch": "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, fewer shapes, empty_cache() after set-up.",
            "mindspore": "Fewer shapes; a smaller block of the pool (mempool_block_size).",
        },
        "small-transfers": {
            _NEUTRAL: "Join them: one collective for several tensors.",
            "torch": "Join them: larger gradient buckets (bucket_cap_mb), one collective for several tensors.",
            "mindspore": "Join them: fusion of all-reduces (comm_fusion), one collective for several tensors.",
        },
    }
)


def framework_of(profile: Profile) -> str:
    """Return the framework whose profiler left a profile, ``""`` for directories of the toolkit alone."""
    left_something = profile.framework_path is not None or profile.profiler_info or profile.host_ops.height
    return profile.product if left_something else _NEUTRAL


def remedy_for(name: str, framework: str, otherwise: str = "") -> str:
    """
    Return what to do about a condition in a framework; the neutral words where there are no others.

    *otherwise* is for a condition whose remedy is the same in all frameworks.
    """
    words = _REMEDIES.get(name, {_NEUTRAL: otherwise})
    return words.get(framework, words[_NEUTRAL])
