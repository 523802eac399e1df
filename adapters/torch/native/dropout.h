// Dropout, in one pass over the values. PyTorch composes it of three operators, one of which turns the mask into numbers.
#pragma once

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>

#include <ATen/ops/native_dropout_backward_ops.h>

#include "direct.h"

namespace npu {

// Writes the values that the mask keeps times a factor, and 0 for the others (NaN and infinity stay NaN, as on the CPU).
// The mask is multiplied with: a choice by it is a branch that is mispredicted every few elements.
template <typename T>
void write_kept(const T* values, const bool* mask, T factor, T* out, int64_t count) {
  using Wide = at::opmath_type<T>;
  constexpr int64_t GRAIN = 32768;  // at::internal::GRAIN_SIZE: fewer elements are not worth a thread
  const auto* kept = reinterpret_cast<const uint8_t*>(mask);
  const auto wide = static_cast<Wide>(factor);
  at::parallel_for(0, count, GRAIN, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = static_cast<T>(static_cast<Wide>(values[i]) * (wide * static_cast<Wide>(kept[i])));
  });
}

// Returns *values* (any floating type) where *mask* (bool, of their shape) holds, divided by the *share* that is kept, and
// 0 elsewhere; all are of the host. It is bit-equal to dropout on the CPU, which rounds the factor to the type of the values.
inline at::Tensor kept_on_host(const at::Tensor& values, const at::Tensor& mask, double share) {
  const auto dense = values.is_non_overlapping_and_dense() ? values : values.contiguous();
  auto out = at::empty_like(dense);
  const auto in_order = mask.strides() == dense.strides() ? mask : at::empty_like(dense, mask.options()).copy_(mask);
  AT_DISPATCH_FLOATING_TYPES_AND2(c10::kHalf, c10::kBFloat16, values.scalar_type(), "native_dropout", [&] {
    using Wide = at::opmath_type<scalar_t>;
    const auto factor = static_cast<scalar_t>(Wide(1) / static_cast<Wide>(share));
    write_kept(
        dense.const_data_ptr<scalar_t>(), in_order.const_data_ptr<bool>(), factor, out.mutable_data_ptr<scalar_t>(), out.numel());
  });
  return out;
}

// Whether values are of a type that `kept_on_host` serves.
inline bool is_real(const at::Tensor& values) {
  const auto type = values.scalar_type();
  return type == c10::kFloat || type == c10::kDouble || type == c10::kHalf || type == c10::kBFloat16;
}

// The CPU's kernel would draw from the host's generator, for the operator takes none.
inline std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p, std::optional<bool> train) {
  if (input.numel() == 0 || !train.value_or(true) || p == 0.0)
    return {input.clone(), at::ones_like(input, input.options().dtype(c10::kBool))};
  if (p == 1.0) return {at::zeros_like(input), at::zeros_like(input, input.options().dtype(c10::kBool))};
  auto mask = at::empty_like(input, input.options().dtype(c10::kBool));
  mask.bernoulli_(1 - p);
  if (!computing || !is_real(input)) return {input.mul(mask).mul_(1.0 / (1 - p)), mask};
  SelectedDevice selected(input.device().index());
  Aliases aliases;
  const at::Tensor values = aliases.cpu(input, false), which = aliases.cpu(mask, false);
  return {aliases.device_result(kept_on_host(values, which, 1 - p)), mask};
}

// *scale* is 1 / (1 - p), and 0 where nothing was kept. The operator launches a kernel, so it is noted as the device's. A mask
// of another shape or type is the CPU's to serve: scripts may call the operator themselves.
inline at::Tensor native_dropout_backward(const at::Tensor& gradient, const at::Tensor& mask, double scale) {
  using Known = at::_ops::native_dropout_backward;
  const bool fits = is_real(gradient) && mask.scalar_type() == c10::kBool && mask.sizes() == gradient.sizes();
  if (!computing || scale == 0 || !fits) return Served<Known>::call(gradient, mask, scale);
  static const Operator& known = operator_of(find_operator(Known::name));
  Translation translation(known);
  const at::Tensor values = translation.argument(gradient, false), which = translation.argument(mask, false);
  translation.check();
  SelectedDevice selected(translation.aliases.device);
  return device_result(translation, kept_on_host(values, which, 1 / scale));
}

}  // namespace npu
