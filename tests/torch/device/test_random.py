"""From one seed the device draws what the CPU draws."""

from __future__ import annotations

import torch


def test_seeding_the_device_draws_what_seeding_the_cpu_draws() -> None:
    torch.manual_seed(9)
    expected = torch.randn(4)
    for seed in (torch.npu.manual_seed, torch.npu.manual_seed_all):
        torch.manual_seed(1)
        seed(9)
        assert torch.npu.initial_seed() == 9
        assert torch.equal(torch.randn(4, device="npu").cpu(), expected)
    torch.manual_seed(9)
    assert torch.equal(torch.randn(4, device="npu").cpu(), expected)


def test_states_come_back() -> None:
    before, all_before = torch.npu.get_rng_state(), torch.npu.get_rng_state_all()
    first = torch.rand(3, device="npu")
    assert len(all_before) == 8
    torch.npu.set_rng_state(before, "npu:2")
    assert torch.equal(torch.rand(3, device="npu:2").cpu(), first.cpu())
    torch.npu.set_rng_state_all(all_before)
    assert torch.equal(torch.rand(3, device="npu"), first)


def test_fork_rng_restores() -> None:
    torch.manual_seed(2)
    before = torch.npu.get_rng_state()
    with torch.random.fork_rng(devices=[0], device_type="npu"):
        torch.rand(5, device="npu")
        torch.npu.seed()
    assert torch.equal(torch.npu.get_rng_state(), before)


def test_dropout_follows_the_seed() -> None:
    x = torch.ones(64, device="npu")
    torch.npu.manual_seed(4)
    first = torch.nn.functional.dropout(x, 0.5)
    torch.manual_seed(4)
    assert torch.equal(torch.nn.functional.dropout(torch.ones(64), 0.5), first.cpu())
    assert 0 < first.count_nonzero().item() < 64
