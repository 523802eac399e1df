"""Private formats keep their numbers, and their sizes follow the vendor's rules; values stay what they were."""

from __future__ import annotations

from typing import Any

SCRIPT = """
import copy, warnings
import torch, torch_npu
from torch_npu import Format, get_npu_format, get_storage_size, npu_format_cast, npu_format_cast_
x = torch.randn(20, 40, device="npu")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    print(get_npu_format(npu_format_cast(x, Format.FRACTAL_NZ)), str(said[0].message)[:57])
torch_npu.npu.config.allow_internal_format = True
print(get_npu_format(x), npu_format_cast(x, Format.NCHW) is x, get_npu_format(x))
cast = npu_format_cast(x, 29)
print(get_npu_format(cast), get_npu_format(cast.t()), torch.equal(cast, x), cast.data_ptr() != x.data_ptr())
print(get_npu_format(copy.deepcopy(cast)), get_npu_format(cast + 1), get_npu_format(npu_format_cast(cast, x)))
print(get_npu_format(npu_format_cast(torch.ones(5, device="npu"), 29)))
sizes = []
for shape, dtype, number in (((20, 40), "float32", 29), ((20, 40), "int8", 29), ((3, 20, 40), "float16", 29),
                             ((2, 17, 5, 6), "float16", 3), ((20, 17, 3, 3), "float16", 4),
                             ((2, 17, 4, 5, 6), "float16", 32), ((20, 40), "int32", 52)):
    tensor = torch.zeros(shape, dtype=getattr(torch, dtype), device="npu")
    sizes.append(get_storage_size(npu_format_cast_(tensor, number)))
print(sizes, get_storage_size(torch_npu.empty_with_format((20, 40), acl_format=29)))
w = torch.ones(2, 3, device="npu", requires_grad=True)
(npu_format_cast(w, 29) * 2).sum().backward()
print(w.grad.tolist())
part, whole = torch.randn(3, 4, device="npu"), torch.zeros(20, device="npu")
torch_npu.npu_change_data_ptr(part, whole, 5)
part.fill_(3)
print(whole.tolist() == [0] * 5 + [3] * 12 + [0] * 3, part.untyped_storage().nbytes())
for bad in ((part, whole, -1), (part.double(), whole, 0), (part, whole, 9)):
    try:
        torch_npu.npu_change_data_ptr(*bad)
    except RuntimeError as error:
        print(str(error).split(",")[0].splitlines()[0])
"""


def test_formats_are_kept_by_storages(scripts: Any) -> None:
    lines = scripts(SCRIPT, environment={"DRYNPU_DEVICE": "native"}).stdout.splitlines()
    # by hand: blocks of 16 rows, and of 16 columns (32 for one byte, 2 in the format 52); channels in blocks of 16
    sizes = [32 * 48, 32 * 64, 3 * 32 * 48, 2 * 32 * 5 * 6, 32 * 9 * 32, 2 * 4 * 32 * 5 * 6, 32 * 40]
    assert lines == [
        "2 Cannot create tensor with internal format while allow_int",
        "2 True 0",
        "29 29 True True",
        "29 2 0",
        "2",
        f"{sizes} {32 * 48}",
        "[[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]",
        "True 48",
        "Expect offset(index) equal or greater than zero",
        "Expect src and dst tensors having the same dtype",
        "Offsets overflow",
    ]
