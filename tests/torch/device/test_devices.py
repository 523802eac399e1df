"""Devices: count, current one, names, limits, and the environment they come from."""

from __future__ import annotations

import ctypes

import pytest
import torch

from drynpu import ChipError
from drynpu.platforms import load_chip
from drynpu_torch.device import DeviceState, state
from drynpu_torch.install import install


def test_install_is_idempotent_and_the_state_is_one() -> None:
    assert install() is install() is state()
    assert torch.npu.is_available()
    assert torch.npu.device_count() == 8
    assert torch.get_device_module("npu") is torch.npu


@pytest.mark.parametrize("device", [2, "npu:2", "2"])
def test_set_device(device: int | str) -> None:
    torch.npu.set_device(device)
    assert torch.npu.current_device() == 2
    torch.npu.set_device(torch.device("npu", 6))
    assert torch.npu.current_device() == 6
    torch.npu.set_device("npu")
    assert torch.npu.current_device() == 6


@pytest.mark.parametrize("device", [8, "npu:8", 100, "8"])
def test_a_device_out_of_range_is_named_with_the_range(device: int | str) -> None:
    with pytest.raises(RuntimeError, match=r"set device=(8|100), valid device range is \[0, 8\)\. DRYNPU_DEVICES"):
        torch.npu.set_device(device)
    with pytest.raises(AssertionError, match=r"Invalid device id.*valid device range is \[0, 8\)"):
        torch.npu.get_device_name(device)
    assert torch.npu.current_device() == 0


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cuda:0", "Expected a npu device, but got: cuda:0"),
        ("cpu", "Expected a npu device, but got: cpu"),
        ("first", "'first'"),
    ],
)
def test_a_device_of_another_type_is_refused(device: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"{message}.*'npu', 'npu:N' or a number"):
        torch.npu.set_device(device)


def test_device_contexts() -> None:
    with torch.npu.device(3):
        assert torch.npu.current_device() == 3
        with torch.npu.device("npu:1"), torch.npu.device(None), torch.npu.device(-1):
            assert torch.npu.current_device() == 1
        with torch.npu.device_of(torch.zeros(1, device="npu:5")):
            assert torch.npu.current_device() == 5
        with torch.npu.device_of(torch.zeros(1)):
            assert torch.npu.current_device() == 3
    assert torch.npu.current_device() == 0
    with pytest.raises(RuntimeError, match="set device=9"):
        torch.npu.device(9)


def test_properties_are_the_chips() -> None:
    chip = load_chip("Ascend910B2")
    properties = torch.npu.get_device_properties("npu:1")
    assert torch.npu.get_device_name() == properties.name == "Ascend910B2"
    assert properties.total_memory == chip.memory_bytes
    assert (properties.cube_core_num, properties.vector_core_num) == (chip.cube_cores, chip.vector_cores)
    assert repr(properties).startswith(
        f"_NPUDeviceProperties(name='Ascend910B2', total_memory={chip.memory_bytes >> 20}MB"
    )
    assert torch.npu.is_bf16_supported() is chip.split is True
    assert torch.npu.can_device_access_peer(0, 1)
    assert not torch.npu.can_device_access_peer(1, 1)


def test_capability_is_what_the_vendors_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert torch.npu.get_device_capability() is None
    monkeypatch.setenv("TORCH_NPU_DEVICE_CAPABILITY", "8.0")
    assert torch.npu.get_device_capability() == (8, 0)
    monkeypatch.setenv("TORCH_NPU_DEVICE_CAPABILITY", "eight")
    assert torch.npu.get_device_capability() is None


@pytest.mark.parametrize(
    ("devices", "visible", "count"),
    [
        ("2", None, 2),
        ("", None, 8),
        ("0", None, 0),
        ("8", "0,1,5", 3),
        ("4", "2,3,4", 2),
        ("8", "", 0),
        ("8", "3,1", 0),
    ],
)
def test_the_environment_says_how_many(
    monkeypatch: pytest.MonkeyPatch, devices: str, visible: str | None, count: int
) -> None:
    monkeypatch.setenv("DRYNPU_DEVICES", devices)
    if visible is not None:
        monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", visible)
    assert DeviceState.from_environment().device_count == count


@pytest.mark.parametrize("devices", ["many", "-1", "2.5"])
def test_a_count_that_is_none_leaves_the_usual_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], devices: str
) -> None:
    monkeypatch.setenv("DRYNPU_DEVICES", devices)
    assert DeviceState.from_environment().device_count == 8
    assert f"DRYNPU_DEVICES: '{devices}' is not allowed; allowed: an integer from 0 to 63." in capsys.readouterr().err


def test_the_environment_names_the_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRYNPU_CHIP", "910a")
    assert DeviceState.from_environment().chip.name == "Ascend910A"
    monkeypatch.setenv("DRYNPU_CHIP", "Ascend910B22")
    with pytest.raises(ChipError, match="Ascend910B22"):
        _ = DeviceState.from_environment().chip


def test_settings_are_kept_and_change_nothing(npu: DeviceState) -> None:
    assert (torch.npu.conv.allow_hf32, torch.npu.matmul.allow_hf32) == (True, False)
    x = torch.rand(4, 4)
    product = x @ x
    torch.npu.matmul.allow_hf32 = True
    torch.npu.aclnn.allow_hf32 = False
    assert (torch.npu.conv.allow_hf32, torch.npu.matmul.allow_hf32) == (False, True)
    torch.npu.config.allow_internal_format = True
    assert torch.npu.config.allow_internal_format
    assert torch.npu.is_jit_compile_false()
    torch.npu.set_compile_mode(jit_compile=True)
    assert not torch.npu.is_jit_compile_false()
    torch.npu.set_option({"ACL_OP_DEBUG_LEVEL": 2, "MM_BMM_ND_ENABLE": "disable"})
    assert not torch.npu.get_mm_bmm_format_nd()
    assert npu.options["ACL_OP_DEBUG_LEVEL"] == "2"
    assert torch.equal(x @ x, product)
    with pytest.raises(AttributeError):
        torch.npu.conv.allow_hf23 = True


def test_options_that_the_vendor_refuses_are_refused(npu: DeviceState) -> None:
    with pytest.raises(ValueError, match=r"ACL_PRECISION_MODE should be in \['allow_fp32_to_fp16'.* got fastest"):
        torch.npu.set_option({"MM_BMM_ND_ENABLE": "enable", "ACL_PRECISION_MODE": "fastest"})
    assert npu.options == {}
    with pytest.raises(TypeError, match="must be a dict, got list"):
        torch.npu.set_option(["jitCompile"])


@pytest.mark.parametrize("name", ["NPUPluggableAllocator", "MemPool"])
def test_what_is_not_built_says_so_when_it_is_used(name: str) -> None:
    wanted = getattr(torch.npu, name)
    with pytest.raises(
        NotImplementedError, match=f"torch.npu.{name} exists in torch_npu, but drynpu does not provide it: "
    ):
        wanted()


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'torch.npu' has no attribute 'set_devise'"):
        _ = torch.npu.set_devise


def test_every_public_name_is_there_and_documented() -> None:
    for name in torch.npu.__all__:
        assert getattr(torch.npu, name).__doc__, name


def test_properties_that_an_npu_has_not_are_none() -> None:
    properties = torch.npu.get_device_properties(0)
    assert (properties.major, properties.warp_size, properties.gcnArchName) == (None, None, None)


def test_peers_that_do_not_exist() -> None:
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.npu.can_device_access_peer(99, 0)
    with pytest.raises(AssertionError, match="Invalid peer device id"):
        torch.npu.can_device_access_peer(0, 99)


def test_modes_and_limits_are_checked() -> None:
    with pytest.raises(RuntimeError, match="expected one of 0,1,2"):
        torch.npu.set_sync_debug_mode(3)
    with pytest.raises(OverflowError, match="can't convert negative value to unsigned int"):
        torch.npu.set_op_timeout_ms(-1)
    with pytest.raises(OverflowError, match="Overflow when unpacking"):
        torch.npu.set_op_timeout_ms(1 << 32)


def test_the_runtime_pins_memory_and_makes_streams() -> None:
    runtime = torch.npu.npurt()
    assert runtime is torch.npu.npurt()
    host, handle = torch.ones(1024), ctypes.c_void_p()
    assert runtime.npuHostRegister(host.data_ptr(), 4096, 0x10000000) == 0
    assert runtime.npuHostRegister(host.data_ptr(), 4096, 0x10000000) != 0, "it is pinned"
    assert runtime.npuHostUnregister(host.data_ptr()) == 0
    assert runtime.npuHostUnregister(host.data_ptr()) != 0
    assert runtime.npuHostRegister(host.data_ptr(), 0, 0) != 0
    assert runtime.npuStreamCreate(ctypes.addressof(handle)) == 0
    assert handle.value
    assert runtime.npuStreamDestroy(handle.value) == 0
    assert runtime.npuStreamDestroy(handle.value) != 0


def test_transforms_are_not_kept() -> None:
    cache = torch.npu.backends.fft_plan_cache
    before = cache.max_size
    cache.max_size = 20
    assert (cache.max_size, cache.size) == (20, 0)
    cache.max_size = before
    cache.clear()
