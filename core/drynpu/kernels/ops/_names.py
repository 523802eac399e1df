"""
What each framework calls the neutral operators, and where it keeps their arguments.

One line per operator of a framework: the framework, its name for the operator, the neutral operator, and the spelling
``api:kernel(arguments)`` of :meth:`drynpu.kernels.Binding.from_text`. Arguments stand in the framework's order.
"""

from __future__ import annotations

MATMUL = """
torch      aten::mm              product          aclnnMm:(a b)
torch      aten::addmm           product          aclnnAddmm:(bias a b)
torch      aten::addmm_          product          aclnnInplaceAddmm:(bias a b)
torch      aten::bmm             product          aclnnBatchMatMul:(a b)
torch      aten::baddbmm         product          aclnnBaddbmm:(bias a b)
torch      aten::baddbmm_        product          aclnnInplaceBaddbmm:(bias a b)
tf         MatMul                product          MatMulV2(a b turn_a=transpose_a turn_b=transpose_b)
tf         _FusedMatMul          product          MatMulV2(a b turn_a=transpose_a turn_b=transpose_b)
tf         BatchMatMul           stacked_product  BatchMatMulV2(a b turn_a=adj_x turn_b=adj_y)
tf         BatchMatMulV2         stacked_product  BatchMatMulV2(a b turn_a=adj_x turn_b=adj_y)
tf         BatchMatMulV3         stacked_product  BatchMatMulV2(a b turn_a=adj_x turn_b=adj_y)
tf         _FusedBatchMatMulV2   stacked_product  BatchMatMulV2(a b turn_a=adj_x turn_b=adj_y)
tf         Einsum                einsum           BatchMatMulV2()
mindspore  MatMul                product          MatMulV2(a b turn_a=transpose_a turn_b=transpose_b)
mindspore  Mm                    product          MatMulV2(a b turn_a=transpose_a turn_b=transpose_b)
mindspore  MatMulExt             product          MatMulV2(a b turn_a=transpose_a turn_b=transpose_b)
mindspore  BatchMatMul           product          BatchMatMulV2(a b turn_a=transpose_a turn_b=transpose_b)
mindspore  BatchMatMulExt        product          BatchMatMulV2(a b turn_a=transpose_a turn_b=transpose_b)
mindspore  Dense                 dense            MatMulV2(x weight bias)
onnx       Gemm                  product          MatMulV2(a b bias turn_a=transA turn_b=transB)
onnx       MatMul                vector_product   MatMulV2(a b)
onnx       MatMulInteger         vector_product   MatMulV2(a b)
onnx       Einsum                einsum           BatchMatMulV2()
"""
