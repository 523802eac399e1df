"""Signatures, tensors, attributes of nodes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from drynpu.kernels import Placement, node_signature
from drynpu_tf.rules import attributes_of, dtype_name, tensor_desc


@pytest.mark.parametrize(
    ("dtype", "ge", "size"),
    [
        ("float32", "FLOAT", 4),
        ("float32_ref", "FLOAT", 4),
        ("float", "FLOAT", 4),
        ("double", "DOUBLE", 8),
        ("half", "FLOAT16", 2),
        ("bfloat16", "DT_BF16", 2),
        ("int64", "INT64", 8),
        ("bool", "BOOL", 1),
        ("resource", "UNDEFINED", 1),
        ("no such type", "UNDEFINED", 1),
    ],
)
def test_types(dtype: str, ge: str, size: int) -> None:
    found = tensor_desc((3, 2), dtype)
    assert (found.shape, found.dtype, found.size_bytes) == ((3, 2), ge, 6 * size)


def test_numbers_of_types_count_references_as_what_they_refer_to() -> None:
    assert [dtype_name(number) for number in (1, 101, 14, 19, 20, 999)] == [
        "float32", "float32", "bfloat16", "float16", "resource", "",
    ]  # fmt: skip


def test_a_signature_is_hashable_and_tells_nodes_apart() -> None:
    tensor = tensor_desc((2,), "float32")
    calls = {node_signature("Relu", [tensor], [tensor], {"a": [1, [2, b"x"]]}, node=node) for node in ("a", "a", "b")}
    assert len(calls) == 2
    assert all(call.placement is Placement.DEVICE for call in calls)


class _Value:
    """An ``AttrValue``, as far as it is read."""

    def __init__(self, kind: str, value: Any) -> None:
        self._kind = kind
        setattr(self, kind, value)

    def WhichOneof(self, group: str) -> str:  # noqa: N802 - protobuf's name
        assert group == "value"
        return self._kind


def _items(**given: Any) -> SimpleNamespace:
    return SimpleNamespace(**({"i": [], "f": [], "b": [], "s": [], "type": []} | given))


def test_attributes_of_a_node() -> None:
    node = SimpleNamespace(
        attr={
            "transpose_a": _Value("b", True),
            "N": _Value("i", 3),
            "padding": _Value("s", b"SAME"),
            "T": _Value("type", 19),
            "ksize": _Value("list", _items(i=[1, 2, 2, 1])),
            "fused_ops": _Value("list", _items(s=[b"BiasAdd", b"Relu"])),
            "output_types": _Value("list", _items(type=[1, 9])),
            "body": _Value("func", SimpleNamespace(name="while_body")),
            "shape": _Value("shape", object()),
            "_class": _Value("list", _items(s=[b"loc:@w"])),
        }
    )
    assert attributes_of(node) == {
        "transpose_a": True,
        "N": 3,
        "padding": "SAME",
        "T": "float16",
        "ksize": (1, 2, 2, 1),
        "fused_ops": ("BiasAdd", "Relu"),
        "output_types": ("float32", "int64"),
        "body": "while_body",
    }
