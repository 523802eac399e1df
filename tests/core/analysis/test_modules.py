"""Which module was at work: the innermost one that is open, and backward the module of the forward operator."""

from __future__ import annotations

import numpy as np

from drynpu.analysis._modules import module_calls, modules_at

from .conftest import host_op, make_profile

CALLS = [(5, "Net######1", 0), (10, "Linear######2", 0), (20, "", 1), (28, "ReLU######3", 0), (38, "", 1), (40, "", 1)]


def test_backwards_it_is_the_module_of_the_last_forward_operator_of_the_number() -> None:
    """Numbers of operators begin with 0; -1 is none."""
    profile = make_profile(
        python_calls=[{"time_ns": time, "tid": 1, "name": name, "tag": tag} for time, name, tag in CALLS],
        host_ops=[
            host_op("aten::mm", 12, 14, sequence=0),
            host_op("aten::relu", 15, 17, sequence=3),
            host_op("aten::relu", 30, 36, sequence=3),
            host_op("aten::copy_", 37, 38, sequence=-1),
            host_op("Relu0", 50, 58, sequence=3, fwd_tid=1),
            host_op("Mm0", 60, 70, sequence=0, fwd_tid=1),
            host_op("Copy0", 80, 90, sequence=-1, fwd_tid=1),
            host_op("Other0", 92, 95, sequence=8, fwd_tid=1),
        ],
    )
    times = [4, 5, 12, 21, 30, 39, 41, 50, 55, 59, 60, 70, 85, 93]
    expected = [
        "",
        "Net_0",
        "Linear_0",
        "Net_0",
        "ReLU_0",
        "Net_0",
        "",
        "ReLU_0",
        "ReLU_0",
        "",
        *["Linear_0"] * 2,
        "",
        "",
    ]
    assert modules_at(profile, np.array(times)).to_list() == expected
    assert module_calls(profile).rows() == [("Net_0", 5, 40), ("Linear_0", 10, 20), ("ReLU_0", 28, 38)]
    assert modules_at(make_profile(), np.array([5])).to_list() == [""]
