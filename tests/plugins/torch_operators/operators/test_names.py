"""The names of the operators: the same objects in torch_npu and torch.ops.npu, and those that are refused."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
import torch

from drynpu_torch_operators.operators import exported


def _output(script: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"KINETO_LOG_LEVEL": "99"} | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_script_calls_operators_by_both_names() -> None:
    lines = _output(
        """
        import torch, torch_npu
        from torch_npu import npu_rms_norm, npu_sub_sample
        print(npu_rms_norm is torch.ops.npu.npu_rms_norm, npu_rms_norm.default)
        x = torch.ones(2, 4).npu()
        print(torch_npu.npu_rms_norm(x, torch.full((4,), 3.0).npu())[0].sum().item())
        try:
            npu_sub_sample(x, x, x)
        except NotImplementedError as error:
            print(error)
        print(hasattr(torch_npu, "npu_no_such_operator"))
        print(torch_npu.float8_e8m0fnu, torch_npu.float4_e2m1fn_x2)
        """
    )
    assert lines[0] == "True npu.npu_rms_norm.default"
    assert float(lines[1]) == pytest.approx(24.0, rel=1e-5)
    assert lines[2].startswith("torch_npu.npu_sub_sample exists in torch_npu, but drynpu does not compute")
    assert lines[3:] == ["False", "293 296"]


def test_operators_are_there_where_the_device_is_loaded_with_torch() -> None:
    script = """
    import sys, threading
    import torch
    print("drynpu_torch_operators.operators" in sys.modules)
    shapes = []
    def call():
        shapes.append(tuple(torch.ops.npu.npu_rms_norm(torch.ones(1, 2), torch.ones(2))[1].shape))
    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    import torch_npu
    print(shapes, torch_npu.npu_rms_norm is torch.ops.npu.npu_rms_norm, hasattr(torch.ops.npu, "npu_no_such_operator"))
    """
    assert _output(script, DRYNPU_AUTOLOAD="1") == ["False", f"{[(1, 1)] * 4} True False"]


def test_the_facade_registers_what_was_deferred() -> None:
    script = (
        "import torch, torch_npu; print(type(torch.ops.npu) is torch._ops._OpNamespace, torch.ops.npu.npu_rms_norm)"
    )
    assert _output(script, DRYNPU_AUTOLOAD="1") == ["True npu.npu_rms_norm"]


def test_no_name_is_both_computed_and_refused() -> None:
    refused = [name for name, value in exported().items() if type(value).__name__ == "RefusedOperator"]
    computed = [n for n in refused if torch._C._jit_get_schemas_for_operator(f"npu::{n}")]
    assert refused
    assert not computed


@pytest.mark.parametrize("form", ["default", "out"])
def test_overloads_of_refused_operators_refuse(form: str) -> None:
    operator = getattr(exported()["npu_sub_sample"], form)
    with pytest.raises(NotImplementedError, match=r"npu_sub_sample .* use torchvision.ops"):
        operator(1, key=2)


FLOAT8_E5M2 = 291


@pytest.mark.parametrize(
    ("name", "arguments", "given"),
    [
        ("npu_fused_infer_attention_score", 3, {"kv_padding_size": torch.zeros(1, dtype=torch.int64)}),
        ("npu_fused_infer_attention_score", 3, {"actual_shared_prefix_len": [3]}),
        ("npu_fused_infer_attention_score_v2", 3, {"quant_scale_p": torch.ones(1)}),
        ("npu_incre_flash_attention", 3, {"dequant_scale1": torch.ones(1)}),
        ("npu_prompt_flash_attention", 3, {"deq_scale2": torch.ones(1)}),
        ("npu_dynamic_mx_quant", 1, {"round_mode": "floor"}),
        ("npu_dynamic_mx_quant_with_dual_axis", 1, {"dst_type_max": 2.5}),
        ("npu_dynamic_block_quant", 1, {"round_mode": "floor"}),
        ("npu_quant_matmul", 3, {"x1_dtype": FLOAT8_E5M2}),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_arguments_that_are_not_computed_are_refused(
    name: str, arguments: int, given: dict[str, object], device: str
) -> None:
    operator = getattr(torch.ops.npu, name)
    x = torch.ones(2, 8, 32, dtype=torch.float16, device=device)
    values = {key: value.to(device) if isinstance(value, torch.Tensor) else value for key, value in given.items()}
    with pytest.raises(RuntimeError, match=f"{name}: drynpu does not compute the argument {next(iter(given))};"):
        operator(*[x] * arguments, **values)


def test_the_default_of_an_argument_that_is_not_computed_is_no_error() -> None:
    x = torch.ones(4, 64, dtype=torch.bfloat16)
    plain, same = (torch.ops.npu.npu_dynamic_mx_quant(x, **given) for given in ({}, {"round_mode": "rint"}))
    assert torch.equal(plain[0].view(torch.uint8), same[0].view(torch.uint8))


META_CALLS: list[tuple[str, tuple[object, ...], dict[str, object], tuple[int, ...] | None]] = [
    (
        "npu_grouped_matmul",
        ([torch.empty(6, 4)], [torch.empty(2, 4, 8)]),
        {"group_list": torch.tensor([1, 6]), "group_type": 0, "split_item": 2},
        (6, 8),
    ),
    (
        "_npu_paged_attention",
        (torch.empty(2, 4, 16), torch.empty(4, 4, 2, 16), torch.empty(4, 4, 2, 16), 2, 4, 1.0),
        {"block_table": torch.zeros(2, 2).int(), "context_lens": torch.tensor([7, 2]), "out": torch.empty(2, 4, 16)},
        None,
    ),
]


@pytest.mark.parametrize(("name", "arguments", "options", "shape"), META_CALLS)
def test_operators_that_read_counts_have_kernels_without_values(
    name: str, arguments: tuple[object, ...], options: dict[str, object], shape: tuple[int, ...] | None
) -> None:
    from torch.utils._pytree import tree_map_only

    from drynpu_torch_operators.operators._call import Call
    from drynpu_torch_operators.operators._registry import overload_of
    from drynpu_torch_operators.operators._table import FAMILIES

    operator = next(family.OPERATORS[name] for family in FAMILIES if name in family.OPERATORS)
    arguments, options = tree_map_only(torch.Tensor, lambda t: t.to("meta"), (arguments, options))
    result = overload_of(name)(*arguments, **options)
    schema = overload_of(name)._schema.arguments
    names = [argument.name for argument in schema]
    given = {argument.name: argument.default_value for argument in schema}
    call = Call(given | dict(zip(names, arguments, strict=False)) | options, tuple(result or ()))
    (launch,) = operator.kernels(call)
    assert launch.flops > 0
    assert shape is None or result[0].shape == shape
