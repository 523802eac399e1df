// Autocast for the npu: which operators run in the lower precision, which in float32 (AutoCastOps.cpp of torch_npu).
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "fallback.h"

namespace npu {

using c10::IValue;
using torch::jit::Stack;

template <class Convert>
void convert_tensors(Stack& stack, size_t count, Convert convert) {
  for (size_t i = stack.size() - count; i < stack.size(); ++i) {
    auto& value = stack[i];
    if (value.isTensor()) {
      if (value.toTensor().defined()) value = convert(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const auto& item : value.toListRef()) list.push_back(convert(item.toTensor()));
      value = std::move(list);
    }
  }
}

inline c10::DispatchKeySet without_autocast() {
  return c10::DispatchKeySet(c10::DispatchKey::AutocastPrivateUse1);
}

inline void lower_precision(const c10::OperatorHandle& op, Stack* stack) {
  c10::impl::ExcludeDispatchKeyGuard guard(without_autocast());
  const auto dtype = at::autocast::get_autocast_dtype(TYPE);
  convert_tensors(*stack, op.schema().arguments().size(), [&](const at::Tensor& tensor) {
    return at::autocast::cached_cast(dtype, tensor, TYPE);
  });
  op.callBoxed(stack);
}

inline void float32(const c10::OperatorHandle& op, Stack* stack) {
  c10::impl::ExcludeDispatchKeyGuard guard(without_autocast());
  convert_tensors(*stack, op.schema().arguments().size(), [&](const at::Tensor& tensor) {
    return at::autocast::cached_cast(c10::kFloat, tensor, TYPE);
  });
  op.callBoxed(stack);
}

// For reductions: the operator computes in float32 because its dtype argument says so, unless the script gave one.
inline void float32_by_dtype(const c10::OperatorHandle& op, Stack* stack) {
  c10::impl::ExcludeDispatchKeyGuard guard(without_autocast());
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  const auto& input = (*stack)[first].toTensor();
  const bool low = input.defined() && input.device().type() == TYPE && input.is_floating_point() &&
                   (input.scalar_type() == c10::kHalf || input.scalar_type() == c10::kBFloat16);
  for (size_t i = 0; low && i < arguments.size(); ++i)
    if (arguments[i].name() == "dtype" && (*stack)[first + i].isNone())
      (*stack)[first + i] = static_cast<int64_t>(c10::kFloat);
  op.callBoxed(stack);
}

inline void widest(const c10::OperatorHandle& op, Stack* stack) {
  c10::impl::ExcludeDispatchKeyGuard guard(without_autocast());
  auto dtype = at::autocast::get_autocast_dtype(TYPE);
  const size_t count = op.schema().arguments().size();
  convert_tensors(*stack, count, [&](const at::Tensor& tensor) {
    if (tensor.device().type() == TYPE && tensor.is_floating_point() && tensor.scalar_type() != c10::kDouble)
      dtype = c10::promoteTypes(dtype, tensor.scalar_type());
    return tensor;
  });
  convert_tensors(*stack, count, [&](const at::Tensor& tensor) {
    return at::autocast::cached_cast(dtype, tensor, TYPE);
  });
  op.callBoxed(stack);
}

inline void refuse_bce(const c10::OperatorHandle&, Stack*) {
  TORCH_CHECK(
      false,
      "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
      "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
      "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
      "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
      "safe to autocast.");
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  for (const char* name :
       {"_convolution.deprecated", "_convolution", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d",
        "conv_transpose2d.input", "conv_transpose3d.input", "convolution", "prelu", "addmm", "addmv", "addr", "matmul",
        "einsum", "mm", "mv", "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "linalg_multi_dot",
        "_thnn_fused_lstm_cell", "_thnn_fused_gru_cell", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell",
        "_scaled_dot_product_flash_attention", "scaled_dot_product_attention"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&lower_precision>());
  for (const char* name :
       {"acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt",
        "sinh", "tan", "pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "softplus", "layer_norm",
        "native_layer_norm", "group_norm", "frobenius_norm.dim", "nuclear_norm", "nuclear_norm.dim",
        "cosine_similarity", "poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d",
        "hinge_embedding_loss", "kl_div", "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss",
        "multilabel_margin_loss", "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss",
        "binary_cross_entropy_with_logits", "dist", "pdist", "cdist", "renorm", "logsumexp"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&float32>());
  for (const char* name :
       {"prod", "prod.dim_int", "softmax.int", "log_softmax.int", "cumprod", "cumsum", "linalg_vector_norm",
        "linalg_matrix_norm", "linalg_matrix_norm.str_ord", "sum", "sum.dim_IntList"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&float32_by_dtype>());
  for (const char* name : {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "grid_sampler", "index_put",
                           "tensordot", "scatter_add"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&widest>());
  m.impl("binary_cross_entropy", torch::CppFunction::makeFromBoxedFunction<&refuse_bce>());
}

}  // namespace npu
