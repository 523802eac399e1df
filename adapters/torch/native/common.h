// Which operators are served without boxes: those that tiny steps consist of, by their names in at::_ops.
#pragma once

#include <ATen/ops/abs_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/cat_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/gelu_backward_ops.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/gt_ops.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/lt_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/native_layer_norm_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/pow_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/sigmoid_backward_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/tanh_backward_ops.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/threshold_backward_ops.h>
#include <ATen/ops/where_ops.h>
#include <ATen/ops/zero_ops.h>

#include "direct.h"

namespace npu {

inline void serve_common(DirectOperators& operators) {
  using namespace at::_ops;
  operators.serve<add_Tensor, sub_Tensor, mul_Tensor, div_Tensor, add__Tensor, sub__Tensor, mul__Tensor, div__Tensor>();
  operators.serve<eq_Tensor, eq_Scalar, gt_Scalar, lt_Scalar, where_self, pow_Tensor_Scalar>();
  operators.serve<at::_ops::abs, at::_ops::exp, at::_ops::log, neg, at::_ops::sqrt, rsqrt, at::_ops::tanh, sigmoid, relu, gelu, silu>();
  operators.serve<threshold_backward, tanh_backward, sigmoid_backward, gelu_backward>();
  operators.serve<mm, addmm, bmm, sum_dim_IntList, mean_dim, cat, native_layer_norm, fill__Scalar, zero_>();
}

}  // namespace npu
