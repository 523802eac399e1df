// Operators of the device that are more than the CPU's operator of the same name.
#pragma once

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/Context.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/quantized/Quantizer.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/one_hot_native.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include "fallback.h"

namespace npu {

constexpr int64_t MATH = 0, OVERRIDEABLE = 4;  // at::SDPBackend

// Memory of which nobody knows the contents holds NaN, or the largest number, where the script asks for that.
inline at::Tensor filled(at::Tensor tensor) {
  const auto& context = at::globalContext();
  if (C10_UNLIKELY(context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory()))
    at::native::fill_empty_deterministic_(tensor);
  return tensor;
}

inline at::Tensor empty(
    c10::IntArrayRef size, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout,
    std::optional<c10::Device> device, std::optional<bool> pinned, std::optional<c10::MemoryFormat> format) {
  TORCH_CHECK(!pinned.value_or(false), "Only dense CPU tensors can be pinned");
  TORCH_CHECK_NOT_IMPLEMENTED(
      layout.value_or(c10::kStrided) == c10::kStrided, "the npu has tensors of layout torch.strided alone, not ", *layout);
  SelectedDevice selected(device ? device->index() : c10::DeviceIndex(-1));
  return filled(at::detail::empty_generic(
      size, allocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      dtype.value_or(at::typeMetaToScalarType(c10::get_default_dtype())), format));
}

inline at::Tensor empty_strided(
    c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout>,
    std::optional<c10::Device> device, std::optional<bool> pinned) {
  TORCH_CHECK(!pinned.value_or(false), "Only dense CPU tensors can be pinned");
  SelectedDevice selected(device ? device->index() : c10::DeviceIndex(-1));
  return filled(at::detail::empty_strided_generic(
      size, stride, allocator(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      dtype.value_or(at::typeMetaToScalarType(c10::get_default_dtype()))));
}

// Returns a tensor of the host with stand-ins for the values of one that has none.
inline at::Tensor stand_in_copy(const at::Tensor& tensor) {
  ++asked_for[COPY];
  auto copy = at::empty(tensor.sizes(), tensor.options().device(c10::kCPU));
  fill_stand_in(copy, estimate_of(tensor));
  return copy;
}

// Returns a tensor of the host that shares the memory of one of the device, for what runs on the host beside it (gloo).
inline at::Tensor host_view(const at::Tensor& tensor) {
  if (!on_device(tensor.unsafeGetTensorImpl())) return tensor;
  if (!has_values(tensor)) return stand_in_copy(tensor);
  return at::Tensor(make_alias(tensor.unsafeGetTensorImpl()));
}

// The ranges by which a recording knows copies between host and device.
inline void copy(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t first = stack->size() - operator_of(op).arguments;
  const bool to_device = on_device((*stack)[first].toTensor().unsafeGetTensorImpl());
  const bool from_device = on_device((*stack)[first + 1].toTensor().unsafeGetTensorImpl());
  if (to_device == from_device) return fallback(op, stack);
  RECORD_FUNCTION(to_device ? "drynpu::to_device" : "drynpu::to_host", c10::ArrayRef<const c10::IValue>{});
  const auto target = (*stack)[first].toTensor(), source = (*stack)[first + 1].toTensor();
  if (from_device && !has_values(source)) {
    StackTranslation translation(operator_of(op), *stack, operator_of(op).arguments);  // notes the operator as the device's
    ++asked_for[COPY];
    fill_stand_in(target, estimate_of(source));
    torch::jit::drop(*stack, operator_of(op).arguments);
    stack->emplace_back(target);
    return;
  }
  fallback(op, stack);
}

// The same for tensors that consist of others.
inline void composed_copy(const c10::OperatorHandle& op, c10::DispatchKeySet called, torch::jit::Stack* stack) {
  const size_t first = stack->size() - operator_of(op).arguments;
  const bool to_device = on_device((*stack)[first].toTensor().unsafeGetTensorImpl());
  const bool from_device = on_device((*stack)[first + 1].toTensor().unsafeGetTensorImpl());
  if (to_device == from_device) return composed_fallback(op, called, stack);
  RECORD_FUNCTION(to_device ? "drynpu::to_device" : "drynpu::to_host", c10::ArrayRef<const c10::IValue>{});
  composed_fallback(op, called, stack);
}

inline at::Tensor copy_from(const at::Tensor& self, const at::Tensor& target, bool) {
  static const auto op = find_operator("aten::copy_");
  torch::jit::Stack stack{target, self, false};
  op.callBoxed(&stack);
  return target;
}

inline at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& target) {
  static const auto op = find_operator("aten::resize_");
  torch::jit::Stack stack{target, self.sizes(), c10::IValue()};
  op.callBoxed(&stack);
  return copy_from(self, target, false);
}

// A copy between the device and PyTorch's own tensors without values, which parameters are before they are moved.
inline void copy_outline(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t count = operator_of(op).arguments, first = stack->size() - count;
  const auto target = (*stack)[first].toTensor(), source = (*stack)[first + 1].toTensor();
  if (on_device(target.unsafeGetTensorImpl())) {
    RECORD_FUNCTION("drynpu::to_device", c10::ArrayRef<const c10::IValue>{});
    StackTranslation translation(operator_of(op), *stack, count);  // notes the operator as the device's
    holding_of(*target.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl()).has_values = false;
  } else {
    at::native::copy_(const_cast<at::Tensor&>(target), source, false);
  }
  torch::jit::drop(*stack, count);
  stack->emplace_back(target);
}

inline bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& other);

// Takes PyTorch's tensors without values (device meta) for tensors of the host that have not been moved yet.
inline void register_outlines() {
  static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__);
  static const bool once [[maybe_unused]] = [] {
    library.impl("copy_", torch::CppFunction::makeFromBoxedFunction<&copy_outline>());
    library.impl("_has_compatible_shallow_copy_type", TORCH_FN(has_compatible_shallow_copy_type));
    return true;
  }();
}

// The number that a tensor of one element holds.
inline void local_scalar(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto tensor = stack->back().toTensor();
  if (has_values(tensor)) return fallback(op, stack);
  { StackTranslation translation(operator_of(op), *stack, 1); }
  ++asked_for[NUMBER];
  const double mean = mean_of(estimate_of(tensor), tensor.scalar_type());
  torch::jit::drop(*stack, 1);
  if (tensor.scalar_type() == c10::kBool) stack->emplace_back(c10::Scalar(mean > 0.5));
  else if (c10::isIntegralType(tensor.scalar_type(), false)) stack->emplace_back(c10::Scalar(std::llround(mean)));
  else stack->emplace_back(c10::Scalar(mean));
}

// Operators whose result is as long as values say. Each serves a tensor without values and falls back for others.
inline void nonzero(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto tensor = stack->back().toTensor();
  if (has_values(tensor)) return fallback(op, stack);
  StackTranslation translation(operator_of(op), *stack, 1);
  torch::jit::drop(*stack, 1);
  stack->emplace_back(outlined_empty({count_holding(tensor), tensor.dim()}, c10::kLong));
  translation.results(*stack, 1);
}

inline void masked_select(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto args = torch::jit::last(*stack, 2).vec();
  const auto tensor = args[0].toTensor(), mask = args[1].toTensor();
  if (has_values(tensor) && has_values(mask)) return fallback(op, stack);
  StackTranslation translation(operator_of(op), *stack, 2);
  torch::jit::drop(*stack, 2);
  const auto sizes = at::infer_size(tensor.sizes(), mask.sizes());
  const auto elements = c10::multiply_integers(sizes);
  const double holding = static_cast<double>(count_holding(mask)) / static_cast<double>(std::max<int64_t>(mask.numel(), 1));
  stack->emplace_back(outlined_empty({expected_count(holding, elements)}, tensor.scalar_type()));
  translation.results(*stack, 1);
}

// scale, growth_tracker, found_inf, growth_factor, backoff_factor, growth_interval: nothing overflows, so the scale stays.
inline void amp_update_scale(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t count = operator_of(op).arguments;
  const auto args = torch::jit::last(*stack, count).vec();
  if (has_values(args[2].toTensor())) return fallback(op, stack);
  { StackTranslation translation(operator_of(op), *stack, count); }  // notes the operator as the device's
  torch::jit::drop(*stack, count);
  stack->emplace_back(args[0]);
}

// self, weights, minlength
inline void bincount(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto args = torch::jit::last(*stack, 3).vec();
  const auto tensor = args[0].toTensor();
  const bool weighted = args[1].isTensor() && args[1].toTensor().defined();
  if (has_values(tensor) && (!weighted || has_values(args[1].toTensor()))) return fallback(op, stack);
  StackTranslation translation(operator_of(op), *stack, 3);
  torch::jit::drop(*stack, 3);
  const auto choices = static_cast<int64_t>(estimate_of(tensor).choices);
  if (choices > args[2].toInt() || !args[2].toInt()) ++asked_for[SHAPE];
  const auto type = weighted ? c10::kDouble : c10::kLong;
  stack->emplace_back(outlined_empty({std::max<int64_t>({args[2].toInt(), choices, 1})}, type));
  translation.results(*stack, 1);
}

// self, sorted, return_inverse, return_counts: as many different values as may be chosen from, all of them if unknown.
inline void unique(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto args = torch::jit::last(*stack, 4).vec();
  const auto tensor = args[0].toTensor();
  if (has_values(tensor)) return fallback(op, stack);
  StackTranslation translation(operator_of(op), *stack, 4);
  torch::jit::drop(*stack, 4);
  ++asked_for[SHAPE];
  const auto choices = static_cast<int64_t>(estimate_of(tensor).choices);
  const int64_t count = choices > 0 ? std::min(choices, tensor.numel()) : tensor.numel();
  stack->emplace_back(outlined_empty({count}, tensor.scalar_type()));
  stack->emplace_back(args[2].toBool() ? outlined_empty(tensor.sizes(), c10::kLong) : outlined_empty({0}, c10::kLong));
  stack->emplace_back(outlined_empty({args[3].toBool() ? count : 0}, c10::kLong));
  const auto first = stack->size() - 3;
  translation.results(*stack, 3);
  set_estimate((*stack)[first + 2].toTensor(), {static_cast<double>(tensor.numel()) / static_cast<double>(std::max<int64_t>(count, 1)), 0});
}

// repeats, output_size
inline void repeat_interleave(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto args = torch::jit::last(*stack, 2).vec();
  const auto repeats = args[0].toTensor();
  if (has_values(repeats)) return fallback(op, stack);
  StackTranslation translation(operator_of(op), *stack, 2);
  torch::jit::drop(*stack, 2);
  int64_t count = 0;
  if (args[1].isInt()) {
    count = args[1].toInt();
  } else {
    ++asked_for[SHAPE];
    count = std::llround(mean_of(estimate_of(repeats), repeats.scalar_type()) * static_cast<double>(repeats.numel()));
  }
  stack->emplace_back(outlined_empty({count}, repeats.scalar_type()));
  translation.results(*stack, 1);
}

inline bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& other) {
  const auto strided = [](const at::Tensor& t) { return t.layout() == c10::kStrided; };
  const auto host_or_device = [](const at::Tensor& t) {
    return t.device().is_cpu() || t.device().type() == TYPE || (!computing && t.device().is_meta());
  };
  return strided(self) && strided(other) && host_or_device(self) && host_or_device(other);
}

// The quantizer keeps the numbers of its channels on the host.
inline at::Tensor channel_scales(const at::Tensor& tensor) {
  const auto* quantizer = static_cast<at::PerChannelAffineQuantizer*>(tensor.quantizer().get());
  return quantizer->scales().to(tensor.device());
}

inline at::Tensor channel_zero_points(const at::Tensor& tensor) {
  const auto* quantizer = static_cast<at::PerChannelAffineQuantizer*>(tensor.quantizer().get());
  return quantizer->zero_points().to(tensor.device());
}

inline void record_stream(at::Tensor& tensor, c10::Stream) {
  const auto& holding = holding_of(*tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
  if (holding.block) memory_of(holding.device).use_elsewhere(holding.block);
}

// input, dim, half_to_float: the device converts inside, which the CPU refuses.
inline void softmax(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t first = stack->size() - operator_of(op).arguments;
  if ((*stack)[first + 2].toBool()) {
    (*stack)[first] = (*stack)[first].toTensor().to(c10::kFloat);
    (*stack)[first + 2] = false;
  }
  fallback(op, stack);
}

// grad_output, output, dim, input_dtype
inline void softmax_backward(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t first = stack->size() - operator_of(op).arguments;
  const auto output = (*stack)[first + 1].toTensor().scalar_type();
  const auto input = (*stack)[first + 3].toScalarType();
  if (input == output) return fallback(op, stack);
  (*stack)[first + 3] = output;
  fallback(op, stack);
  stack->back() = stack->back().toTensor().to(input);
}

// The device takes indices of int32, too, and returns their type.
// PyTorch's default looks for a library of CPUs; on a device it is a convolution like others.
inline at::Tensor spatial_convolution(
    const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias, c10::SymIntArrayRef padding,
    c10::SymIntArrayRef stride) {
  const std::vector<c10::SymInt> once(2, 1), none(2, 0);
  return at::convolution_symint(input, weight, bias, stride, padding, once, false, none, 1);
}

inline at::Tensor one_hot(const at::Tensor& indices, int64_t classes) {
  const auto type = indices.scalar_type();
  return type == c10::kInt ? at::native::one_hot(indices.to(c10::kLong), classes).to(type) : at::native::one_hot(indices, classes);
}

inline void convolution(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  static const auto instead = find_operator("aten::convolution");
  run_instead(op, instead, stack);
}

// The CPU's operator also takes the sizes of the bias, after the weight.
inline void convolution_backward(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& known = operator_of(op);
  StackTranslation translation(known, *stack, known.arguments);
  SelectedDevice selected(translation.aliases.device);
  const size_t first = stack->size() - known.arguments;
  const int64_t channels = (*stack)[first].toTensor().size(1);
  stack->insert(stack->begin() + static_cast<int64_t>(first) + 3, c10::IValue(std::vector<int64_t>{channels}));
  static const auto instead = find_operator("aten::convolution_backward");
  instead.callBoxed(stack);
  translation.results(*stack, known.returns);
}

inline int64_t attention_choice(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::optional<at::Tensor>& mask,
    double dropout, bool causal, std::optional<double> scale, bool grouped) {
  // A compiler asks with tensors of its own, which are the device's by their name alone and have no memory.
  const c10::DispatchKeySet of_compilers{
      c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot, c10::DispatchKey::Functionalize};
  c10::impl::ExcludeDispatchKeyGuard plain(of_compilers);
  Aliases aliases;
  const auto cpu = [&](const at::Tensor& tensor) -> at::Tensor {
    if (tensor.key_set().has_any(of_compilers))
      return at::detail::empty_strided_cpu(
          C10_AS_INTARRAYREF_SLOW_ALLOC(tensor.sym_sizes()), C10_AS_INTARRAYREF_SLOW_ALLOC(tensor.sym_strides()),
          tensor.scalar_type());
    if (!on_device(tensor.unsafeGetTensorImpl())) return tensor;
    // The choice reads sizes and types alone, so it is the CPU's also for tensors without values.
    return has_values(tensor) ? aliases.cpu(tensor, false) : at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(c10::kCPU));
  };
  std::optional<at::Tensor> cpu_mask;
  if (mask && mask->defined()) cpu_mask = cpu(*mask);
  // The CPU chooses its fused kernel by whether gradients are wanted, among others.
  auto q = cpu(query), k = cpu(key), v = cpu(value);
  if (query.requires_grad() || key.requires_grad() || value.requires_grad()) q.set_requires_grad(at::GradMode::is_enabled());
  const auto choice = at::_fused_sdp_choice(q, k, v, cpu_mask, dropout, causal, scale, grouped);
  return choice == MATH ? MATH : OVERRIDEABLE;
}

// query, key, value, attn_bias, dropout_p, is_causal, return_debug_mask, scale -> output, logsumexp, ...
inline void attention(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& known = operator_of(op);
  StackTranslation translation(known, *stack, known.arguments);
  SelectedDevice selected(translation.aliases.device);
  const auto args = torch::jit::last(*stack, known.arguments).vec();
  torch::jit::drop(*stack, known.arguments);
  const int64_t queries = args[0].toTensor().size(2), keys = args[1].toTensor().size(2);
  for (const auto& each : {args[0], args[1], args[2], args[4], args[5], args[3], args[7]}) stack->push_back(each);
  static const auto instead = find_operator("aten::_scaled_dot_product_flash_attention_for_cpu");
  instead.callBoxed(stack);
  // Offsets of packed sequences and the state of dropout have no values here: the CPU's kernel has neither. They are
  // tensors nevertheless, for compiled graphs keep them for the backward pass.
  const at::Tensor none = at::detail::empty_cpu({0}, c10::kLong);
  for (const c10::IValue& each : {c10::IValue(none), c10::IValue(none), c10::IValue(queries), c10::IValue(keys),
                                  c10::IValue(none), c10::IValue(none), c10::IValue(none)})
    stack->push_back(each);
  translation.results(*stack, known.returns);
}

// grad_out, query, key, value, attn_bias, grad_input_mask, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k,
// dropout_p, is_causal, philox_seed, philox_offset, scale -> gradients of query, key, value, attn_bias
inline void attention_backward(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& known = operator_of(op);
  StackTranslation translation(known, *stack, known.arguments);
  SelectedDevice selected(translation.aliases.device);
  const auto args = torch::jit::last(*stack, known.arguments).vec();
  torch::jit::drop(*stack, known.arguments);
  for (int i : {0, 1, 2, 3, 6, 7, 12, 13, 4, 16}) stack->push_back(args[static_cast<size_t>(i)]);
  static const auto instead = find_operator("aten::_scaled_dot_product_flash_attention_for_cpu_backward");
  instead.callBoxed(stack);
  stack->push_back(at::Tensor());
  translation.results(*stack, known.returns);
}

}  // namespace npu
