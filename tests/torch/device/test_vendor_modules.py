"""The public modules of Ascend/pytorch, torch_npu/ (September 2026): scripts import their names from there."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import torch
from setuptools import Extension

MODULES = {
    "distributed": "is_hccl_available reinit_process_group reduce_scatter_tensor_uneven all_gather_into_tensor_uneven",
    "distributed.distributed_c10d": "is_hccl_available reinit_process_group",
    "distributed.fsdp": "fully_shard",
    "distributed.pipelining": "pipeline",
    "distributed.run": "parse_args",
    "distributed.tensor.experimental": "context_parallel",
    "jit": "optimize",
    "multiprocessing.reductions": "rebuild_npu_event rebuild_npu_tensor",
    "npu.amp": "GradScaler autocast custom_bwd custom_fwd",
    "npu.amp.sharded_grad_scaler": "_ShardedGradScaler",
    "npu.autocast_utils": "get_amp_supported_dtype is_autocast_enabled set_autocast_enabled get_autocast_dtype "
    "set_autocast_dtype",
    "npu.deterministic": "enable_deterministic_with_backward disable_deterministic_with_backward",
    "npu.memory": "caching_allocator_alloc caching_allocator_delete empty_cache memory_stats memory_summary MemPool "
    "empty_virt_addr_cache get_allocator_backend host_empty_cache host_memory_stats reset_peak_host_memory_stats "
    "host_memory_stats_as_nested_dict reset_accumulated_host_memory_stats change_current_allocator use_mem_pool",
    "npu.npu_config": "set_option set_aoe set_compile_mode set_mm_bmm_format_nd get_mm_bmm_format_nd "
    "is_jit_compile_false finalize_dump init_dump set_dump set_device_limit get_device_limit set_stream_limit "
    "reset_stream_limit get_stream_limit",
    "npu.random": "get_rng_state set_rng_state manual_seed manual_seed_all seed seed_all initial_seed",
    "npu.streams": "Stream Event ExternalEvent SyncLaunchStream ExternalStream",
    "npu.utils": "synchronize set_device current_device get_device_name get_device_properties "
    "device device_of stream set_stream current_stream default_stream "
    "init_dump set_dump finalize_dump is_support_inf_nan is_bf16_supported get_npu_overflow_flag npu_check_overflow "
    "clear_npu_overflow_flag current_blas_handle check_uce_in_memory stress_detect get_cann_version ipc_collect "
    "set_op_timeout_ms set_sync_debug_mode get_sync_debug_mode obfuscation_initialize obfuscation_calculate "
    "obfuscation_finalize",
    "profiler": "profile ProfilerActivity supported_activities tensorboard_trace_handler schedule ProfilerAction "
    "_ExperimentalConfig supported_profiler_level supported_ai_core_metrics supported_export_type ProfilerLevel "
    "AiCMetrics ExportType HostSystem",
    "profiler.dynamic_profile": "init step start",
    "profiler.experimental_config": "_ExperimentalConfig supported_profiler_level supported_ai_core_metrics "
    "supported_export_type ProfilerLevel AiCMetrics ExportType HostSystem",
    "profiler.profiler": "profile analyse tensorboard_trace_handler supported_activities _KinetoProfile",
    "profiler.profiler_interface": "supported_activities",
    "profiler.scheduler": "ProfilerAction Schedule",
    "utils": "FlopsCounter set_thread_affinity reset_thread_affinity save_async",
    "utils.affinity": "_set_thread_affinity _reset_thread_affinity",
    "utils.asd_detector": "set_asd_loss_scale register_asd_hook",
    "utils.collect_env": "get_cann_version get_pretty_env_info main",
    "utils.cpp_extension": "NpuExtension",
    "utils.flops_count": "FlopsCounter",
    "utils.profiler": "Profile",
    "utils.serialization": "load save_async",
    "utils.syncbatchnorm": "SyncBatchNorm",
}
ABSENT = (
    *("distributed.rpc.options", "jit.fusion_pass.fast_gelu", "jit.register_fusion_pattern"),
    *("npu.aclnn.backends", "npu.npugraph_ex", "utils.collect_hccl_info"),
)

pytestmark = pytest.mark.usefixtures("npu")


def module(name: str) -> Any:
    return importlib.import_module(f"torch_npu.{name}")


@pytest.mark.parametrize("name", MODULES)
def test_every_name_can_be_imported_from_its_module(name: str) -> None:
    found = module(name)
    assert [each for each in MODULES[name].split() if not hasattr(found, each)] == []


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_absent_is_known(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        module(name)


def test_a_name_means_the_same_wherever_it_is_imported_from() -> None:
    assert module("npu.npu_config").set_option is torch.npu.set_option
    assert module("npu.memory").MemPool is torch.npu.MemPool
    assert module("npu.autocast_utils").get_amp_supported_dtype is torch.npu.get_amp_supported_dtype
    assert module("profiler.scheduler").Schedule is module("profiler").schedule


def test_modern_chips_have_infinities() -> None:
    assert module("npu.utils").is_support_inf_nan() is True


def test_scaler_of_shards_is_for_the_npu() -> None:
    """PyTorch's would be for CUDA, warn that there is none, and scale nothing."""
    scaler = module("npu.amp.sharded_grad_scaler")._ShardedGradScaler(init_scale=8.0, process_group=None)
    assert (scaler._device, scaler.is_enabled()) == ("npu", True)
    assert scaler.scale(torch.ones(2, device="npu") * 3).tolist() == [24.0, 24.0]


def test_launcher_takes_the_options_of_torchrun_and_the_vendors_own() -> None:
    given = ["--nproc_per_node", "3", "--enable_tiered_parallel_tcpstore", "true", "train.py", "--steps", "5"]
    found = module("distributed.run").parse_args(given)
    assert (found.nproc_per_node, found.enable_tiered_parallel_tcpstore) == ("3", "true")
    assert (found.training_script, found.training_script_args) == ("train.py", ["--steps", "5"])


def test_extension_compiles_against_pytorch() -> None:
    found = module("utils.cpp_extension").NpuExtension("mine", ["a.cpp"], include_dirs=["here"], libraries=["m"])
    assert isinstance(found, Extension)
    assert (found.name, found.sources, found.language) == ("mine", ["a.cpp"], "c++")
    assert found.include_dirs[0] == "here"
    assert len(found.include_dirs) > 1
    assert found.libraries == ["m", "c10", "torch", "torch_cpu", "torch_python"]
