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
onnx       Gemm                  product          MatMulV2(a b turn_a=transA turn_b=transB)
onnx       MatMul                vector_product   MatMulV2(a b)
onnx       MatMulInteger         vector_product   MatMulV2(a b)
onnx       Einsum                einsum           BatchMatMulV2()
"""

_TORCH_CONV = "(x weight bias stride padding dilation transposed output_padding groups)"
_TF_CONV = "(x weight stride=strides padding dilation=dilations explicit=explicit_paddings)"
CONVOLUTION = f"""
torch      aten::convolution                    convolution      {_TORCH_CONV}
torch      aten::_convolution                   convolution      {_TORCH_CONV}
torch      aten::convolution_overrideable       convolution      {_TORCH_CONV}
torch      aten::mkldnn_convolution             convolution      (x weight bias padding stride dilation groups)
tf         Conv2D                               convolution      Conv2D{_TF_CONV}
tf         _FusedConv2D                         convolution      Conv2D{_TF_CONV}
tf         DepthwiseConv2dNative                convolution      DepthwiseConv2D{_TF_CONV}
tf         _FusedDepthwiseConv2dNative          convolution      DepthwiseConv2D{_TF_CONV}
tf         Conv2DBackpropInput                  input_gradient   Conv2DBackpropInputD(sizes weight dy)
tf         DepthwiseConv2dNativeBackpropInput   input_gradient   DepthwiseConv2DBackpropInputD(sizes weight dy)
tf         Conv2DBackpropFilter                 weight_gradient  Conv2DBackpropFilterD(x sizes dy)
tf         DepthwiseConv2dNativeBackpropFilter  weight_gradient  DepthwiseConv2DBackpropFilterD(x sizes dy)
tf         BiasAdd                              bias_addition    Add(x bias)
tf         BiasAddV1                            bias_addition    Add(x bias)
tf         BiasAddGrad                          bias_gradient    BiasAddGrad(dy)
mindspore  Conv2D                               convolution      Conv2D(x weight)
mindspore  Conv2DBackpropInput                  input_gradient   Conv2DBackpropInput(dy weight sizes)
mindspore  Conv2DTranspose                      input_gradient   Conv2DBackpropInput(dy weight sizes)
mindspore  Conv2DBackpropFilter                 weight_gradient  Conv2DBackpropFilter(dy x sizes)
mindspore  BiasAdd                              bias_addition    BiasAdd(x bias)
mindspore  BiasAddGrad                          bias_gradient    BiasAddGrad(dy)
onnx       Conv                                 convolution      Conv2D(x weight groups=group)
onnx       ConvInteger                          convolution      Conv2D(x weight groups=group)
onnx       ConvTranspose                        convolution      Conv2DTransposeD(x weight groups=group)
"""
