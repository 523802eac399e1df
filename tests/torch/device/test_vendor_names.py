"""Every name of ``__all__`` in Ascend/pytorch, torch_npu/npu/__init__.py: it exists, and works or says why."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch_npu

DTYPES = {
    "BFloat16": torch.bfloat16,
    "Bool": torch.bool,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Double": torch.float64,
    "Float": torch.float32,
    "Half": torch.float16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Short": torch.int16,
}
NAMES = """
is_initialized init set_dump synchronize device_count can_device_access_peer set_device current_device get_device_name
get_device_properties get_device_capability mem_get_info is_available device device_of StreamContext stream set_stream
current_stream default_stream set_sync_debug_mode get_sync_debug_mode init_dump utilization finalize_dump manual_seed
manual_seed_all seed seed_all initial_seed caching_allocator_alloc caching_allocator_delete
get_per_process_memory_fraction set_per_process_memory_fraction empty_cache empty_virt_addr_cache memory_stats
memory_stats_as_nested_dict reset_accumulated_memory_stats reset_peak_memory_stats reset_max_memory_allocated
reset_max_memory_cached memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached
max_memory_cached memory_snapshot memory_summary MemPool use_mem_pool get_allocator_backend NPUPluggableAllocator
change_current_allocator Stream Event set_option CubeMathType set_aoe set_compile_mode set_mm_bmm_format_nd
get_mm_bmm_format_nd get_npu_overflow_flag clear_npu_overflow_flag stress_detect get_rng_state set_rng_state
get_rng_state_all set_rng_state_all is_jit_compile_false get_amp_supported_dtype is_autocast_enabled is_bf16_supported
set_autocast_enabled get_autocast_dtype set_autocast_dtype current_blas_handle stop_device restart_device
check_uce_in_memory config matmul conv enable_deterministic_with_backward disable_deterministic_with_backward mstx
SyncLaunchStream is_current_stream_capturing ExternalEvent ExternalStream
set_device_limit get_device_limit set_stream_limit reset_stream_limit get_stream_limit ipc_collect
obfuscation_initialize obfuscation_finalize obfuscation_calculate set_op_timeout_ms host_empty_cache host_memory_stats
host_memory_stats_as_nested_dict reset_accumulated_host_memory_stats reset_peak_host_memory_stats
set_deterministic_level use_compatible_impl are_compatible_impl_enabled
super_kernel_scope_begin super_kernel_scope_end npurt
"""

pytestmark = pytest.mark.usefixtures("npu")


def test_every_name_is_there() -> None:
    kinds = [f"{name}{kind}" for name in DTYPES for kind in ("Tensor", "Storage")]
    assert [name for name in [*NAMES.split(), *kinds] if not hasattr(torch.npu, name)] == []
    assert {*NAMES.split(), *kinds} <= set(torch.npu.__all__)


@pytest.mark.parametrize("name", ["NPUPluggableAllocator", "MemPool", "set_dump", "utilization"])
def test_what_is_not_provided_says_so_when_it_is_used(name: str) -> None:
    with pytest.raises(
        NotImplementedError, match=f"^torch.npu.{name} exists in torch_npu, but drynpu does not provide"
    ):
        getattr(torch.npu, name)()


def test_allocators_are_named_in_memory_too() -> None:
    for name in ("MemPool", "use_mem_pool", "NPUPluggableAllocator", "change_current_allocator"):
        assert getattr(torch.npu.memory, name) is getattr(torch.npu, name)


def test_a_class_that_is_not_provided_may_be_derived_from_and_named() -> None:
    class Pool(torch.npu.MemPool):  # type: ignore[name-defined,misc]
        pass

    assert not isinstance(3, (Pool, torch.npu.SyncLaunchStream))
    with pytest.raises(NotImplementedError, match=r"torch\.npu\.Pool"):
        Pool()


@pytest.mark.parametrize(("name", "dtype"), DTYPES.items())
def test_tensor_types_make_and_know_tensors_of_the_device(name: str, dtype: torch.dtype) -> None:
    kind: Any = getattr(torch.npu, f"{name}Tensor")
    values = kind([1, 0])
    assert (values.dtype, values.tolist()) == (dtype, [1, 0])
    assert kind(3, 2).shape == (3, 2)
    assert kind(torch.Size((4,))).shape == (4,)
    assert isinstance(values, kind)
    assert not isinstance(torch.tensor([1, 0], dtype=dtype), kind)
    assert not isinstance(values, getattr(torch.npu, "DoubleTensor" if name != "Double" else "FloatTensor"))


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storage_types_make_and_know_storages_of_the_device() -> None:
    storage = torch.npu.HalfStorage(5)
    assert (storage.size(), storage.dtype) == (5, torch.float16)
    assert isinstance(storage, torch.npu.HalfStorage)
    assert not isinstance(storage, torch.npu.FloatStorage)
    assert not isinstance(torch.HalfStorage(5), torch.npu.HalfStorage)


def test_autocast_is_asked_and_set() -> None:
    assert not torch.npu.is_autocast_enabled()
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert torch.npu.is_autocast_enabled()
        assert torch.npu.get_autocast_dtype() is torch.bfloat16
    torch.npu.set_autocast_enabled(True)
    try:
        x = torch.ones(3, 3, device="npu")
        assert (x @ x).dtype is torch.npu.get_autocast_dtype()
    finally:
        torch.npu.set_autocast_enabled(False)


def test_limits_of_cores_are_kept_for_each_stream() -> None:
    whole = torch.npu.get_device_limit(0)
    properties = torch.npu.get_device_properties(0)
    assert whole == {"cube_core_num": properties.cube_core_num, "vector_core_num": properties.vector_core_num}
    first, second = torch.npu.Stream(), torch.npu.Stream()
    torch.npu.set_stream_limit(first, cube_num=4)
    assert torch.npu.get_stream_limit(first) == whole | {"cube_core_num": 4}
    assert torch.npu.get_stream_limit(second) == whole
    torch.npu.reset_stream_limit(first)
    assert torch.npu.get_stream_limit(first) == whole
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.npu.set_device_limit(99, 1)
    with pytest.raises(TypeError, match="device must be an int, but got str"):
        torch.npu.get_device_limit("0")


def test_overflow_is_a_sum_that_is_infinite_or_no_number() -> None:
    with pytest.raises(RuntimeError, match="Unsupported api when soc_version >= Ascend910B1"):
        torch.npu.get_npu_overflow_flag()
    with pytest.warns(UserWarning, match="clear_npu_overflow_flag is useless"):
        torch.npu.clear_npu_overflow_flag()
    check = torch.npu.utils.npu_check_overflow
    found = [check(torch.tensor(values)) for values in ([1.0, 2.0], [1.0, float("inf")], [float("nan"), 0.0])]
    assert found == [False, True, True]
    assert (check(float("-inf")), check(3.0)) == (True, False)


@pytest.mark.filterwarnings("ignore:The current configuration value")
def test_determinism_ends_or_begins_where_the_gradient_passes() -> None:
    seen = []
    x = torch.ones(2, requires_grad=True)
    inside = torch.npu.enable_deterministic_with_backward(x)
    seen.append(torch.are_deterministic_algorithms_enabled())
    product = inside * 2
    product.register_hook(lambda gradient: seen.append(torch.are_deterministic_algorithms_enabled()))
    outside = torch.npu.disable_deterministic_with_backward(product)
    seen.append(torch.are_deterministic_algorithms_enabled())
    outside.sum().backward()
    seen.append(torch.are_deterministic_algorithms_enabled())
    assert seen == [True, False, True, False]
    torch.npu.set_deterministic_level(1)
    assert torch.are_deterministic_algorithms_enabled()
    torch.npu.set_deterministic_level(0)
    assert not torch.are_deterministic_algorithms_enabled()


def test_settings_are_kept() -> None:
    torch.npu.set_sync_debug_mode("error")
    assert torch.npu.get_sync_debug_mode() == 2
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        torch.npu.set_sync_debug_mode("loud")
    torch.npu.use_compatible_impl(True)
    assert torch.npu.are_compatible_impl_enabled()
    assert torch.npu.get_per_process_memory_fraction() == 1.0
    torch.npu.set_per_process_memory_fraction(0.5, 1)
    assert (torch.npu.get_per_process_memory_fraction(1), torch.npu.get_per_process_memory_fraction(0)) == (0.5, 1.0)
    torch.npu.set_per_process_memory_fraction(1.0, 1)


def test_small_facts() -> None:
    assert len(torch.npu.default_generators) == torch.npu.device_count()
    assert torch.npu.CubeMathType.USE_HF32 == 3
    assert (torch.npu.check_uce_in_memory(0), torch.npu.get_allocator_backend()) == (0, "native")
    seen: list[int] = []
    torch.npu._lazy_call(lambda: seen.append(1))
    assert seen == [1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chip", "number"),
    [
        ("Ascend910A", 102),
        ("Ascend310P3", 202),
        ("Ascend910B2", 221),
        ("Ascend910B4-1", 225),
        ("Ascend950PR", 260),
    ],
)
def test_numbers_of_chips(scripts: Any, chip: str, number: int) -> None:
    """Numbers of torch_npu/csrc/core/npu/NpuVariables.h."""
    script = "import torch, torch_npu\nprint(torch_npu.npu.utils.get_soc_version())"
    run = scripts(script, environment={"DRYNPU_CHIP": chip})
    assert run.stdout.split() == [str(number)]


def test_a_chip_without_a_number(scripts: Any) -> None:
    script = "import torch, torch_npu\ntorch_npu.npu.utils.get_soc_version()"
    run = scripts(script, environment={"DRYNPU_CHIP": "Ascend310"}, status=1)
    assert "RuntimeError: Unsupported soc version: Ascend310" in run.stderr


def test_attention_is_switched_by_the_flags_of_pytorch() -> None:
    with torch.npu.sdp_kernel(enable_flash=False, enable_math=True, enable_mem_efficient=False):
        assert not torch.backends.cuda.flash_sdp_enabled()
        assert (torch.npu.flash_sdp_enabled(), torch.npu.math_sdp_enabled()) == (False, True)
        assert not torch.npu.mem_efficient_sdp_enabled()
    assert torch.npu.flash_sdp_enabled()


def test_the_index_of_a_device_is_found_as_the_vendors_function_does() -> None:
    find = torch.npu._get_device_index
    assert [find("npu:3"), find(2), find("npu", optional=True), find("cpu", allow_cpu=True)] == [3, 2, 0, -1]
    with pytest.raises(ValueError, match="Expected a npu device, but got: cpu"):
        find(torch.device("cpu"), optional=True)
    with pytest.raises(RuntimeError, match="Invalid device string"):
        find("npu0")
    with pytest.raises(ValueError, match=r"Expected a npu device, but got: cpu.*\n.*ERR00003"):
        torch.npu.synchronize("cpu")


def test_ranges_of_graph_compilers_have_names() -> None:
    torch.npu.super_kernel_scope_begin("part")
    torch.npu.super_kernel_scope_end()
    with pytest.raises(RuntimeError, match=r"scope_name should be None or a non-empty string\."):
        torch.npu.super_kernel_scope_begin(" ")


def test_memory_of_tensors_is_counted_in_elements() -> None:
    assert torch_npu.get_storage_size(torch.zeros(4, 4, device="npu")[0].half()) == 4
    assert torch_npu.get_storage_size(torch.zeros(4, 4, device="npu")[0]) == 16
    strided = torch_npu._C._empty_strided_npu((2, 3), (1, 2), torch.int32)
    assert (strided.stride(), strided.dtype) == ((1, 2), torch.int32)


def test_hf32_of_convolutions_is_switched_inside_a_block() -> None:
    before = torch.npu.conv.allow_hf32
    with torch.npu.aclnn.flags(allow_hf32=False):
        assert not torch.npu.conv.allow_hf32
        assert torch_npu._C._npu_getOption("ALLOW_CONV_HF32") == b"disable"
    assert torch.npu.conv.allow_hf32 == before
    assert torch_npu._C._npu_getOption("NO_SUCH_OPTION") is None
    with pytest.warns(UserWarning, match="torch.npu.aclnn.version isn't implemented!"):
        assert torch.npu.aclnn.version() is None


def test_a_fraction_of_memory_is_checked_with_the_vendors_tag() -> None:
    with pytest.raises(TypeError, match=r"must be `float`\n.*ERR00002"):
        torch.npu.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match=r"Allowed range: 0~1\n.*ERR00003"):
        torch.npu.set_per_process_memory_fraction(1.5)


def test_streams_are_made_as_with_the_vendor() -> None:
    import torch_npu
    from torch_npu import version
    from torch_npu.npu._recovery import check_npu_tensor_is_safe, update_npu_tensor_to_safe

    assert torch.npu.Stream(device_index=0, is_sync_launch=True).is_sync_launch
    assert torch.npu.SyncLaunchStream().is_sync_launch
    stream = torch.npu.Stream()
    same = torch.npu.ExternalStream(stream.npu_stream)
    assert same.npu_stream == stream.npu_stream
    with torch.npu.stream(same):
        assert torch_npu._C._npu_getCurrentRawStream(0) == stream.npu_stream
    with pytest.raises(RuntimeError, match="priority"):
        torch.npu.ExternalStream(1, priority=-1)
    assert version.__version__ == torch_npu.__version__
    update_npu_tensor_to_safe(torch.ones(1))
    assert check_npu_tensor_is_safe(torch.ones(1))
    with pytest.raises(RuntimeError, match="should be Tensor"):
        update_npu_tensor_to_safe(1)
