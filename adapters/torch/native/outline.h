// Where values are not computed: which operators run on shapes alone, and what is then known of their results.
#pragma once

#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/arange.h>

#include "alias.h"

namespace npu {

inline const Holding& holding_of(const at::Tensor& tensor) {
  return holding_of(*tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
}

inline bool has_values(const at::Tensor& tensor) {
  return computing || !on_device(tensor.unsafeGetTensorImpl()) || !tensor.has_storage() || holding_of(tensor).has_values;
}

inline Estimate estimate_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !on_device(tensor.unsafeGetTensorImpl()) || !tensor.has_storage()) return {};
  return holding_of(tensor).estimate;
}

inline void set_estimate(const at::Tensor& tensor, const Estimate& estimate) {
  if (tensor.defined() && on_device(tensor.unsafeGetTensorImpl()) && tensor.has_storage())
    const_cast<Holding&>(holding_of(tensor)).estimate = estimate;
}

// Says whether an operator runs on shapes alone: one of its tensors of the device has no values, or they are too large
// together, or a size among its arguments is.
class Outliner {
 public:
  bool decide(const torch::jit::Stack& stack, size_t first) {
    for (size_t i = first; i < stack.size() && !outlined_; ++i) look_at(stack[i]);
    return outlined_ || bytes_ > most_computed_bytes;
  }

 private:
  void look_at(const c10::IValue& value) {
    if (value.isTensor()) {
      look_at(value.toTensor());
    } else if (value.isTensorList() || value.isOptionalTensorList()) {
      for (const auto& each : value.toListRef())
        if (!each.isNone()) look_at(each.toTensor());
    } else if (value.isStorage()) {
      // set_ gives a tensor this memory, so the tensor is without values where the memory is.
      const auto storage = value.toStorage();
      outlined_ |= storage.device_type() == TYPE && !holding_of(*storage.unsafeGetStorageImpl()).has_values;
    } else if (value.isIntList()) {
      int64_t elements = 1;
      for (int64_t size : value.toIntVector()) elements *= std::max<int64_t>(size, 1);
      outlined_ |= elements > most_computed_bytes;
    }
  }

  void look_at(const at::Tensor& tensor) {
    if (!tensor.defined() || !on_device(tensor.unsafeGetTensorImpl()) || !tensor.has_storage()) return;
    if (!holding_of(tensor).has_values) outlined_ = true;
    bytes_ += static_cast<int64_t>(tensor.numel() * tensor.element_size());
  }

  bool outlined_ = false;
  int64_t bytes_ = 0;
};

// Returns for how many elements a comparison with the second argument holds: all with the tensor itself, as in isfinite,
// none with infinity, one in as many as there are values to choose from, else half.
inline double share_of_equals(const Estimate& estimate, const torch::jit::Stack& arguments) {
  if (arguments.size() < 2) return default_mean(c10::kBool);
  if (arguments[1].isTensor() && arguments[1].toTensor().is_same(arguments[0].toTensor())) return 1.0;
  if (arguments[1].isScalar() && !std::isfinite(arguments[1].toScalar().toDouble())) return 0.0;
  return estimate.choices > 0 ? 1.0 / estimate.choices : default_mean(c10::kBool);
}

// Returns what is known of the values of a result, from the operator's rule, its first tensor and its numbers.
inline Estimate estimate_result(
    Rule rule, const at::Tensor& input, const torch::jit::Stack& arguments, const at::Tensor& result) {
  const auto before = estimate_of(input);
  const auto elements = static_cast<double>(std::max<int64_t>(input.defined() ? input.numel() : 0, 1));
  const auto results = static_cast<double>(std::max<int64_t>(result.numel(), 1));
  switch (rule) {
    case Rule::MOVED: return before;
    case Rule::FAILS:
    case Rule::NO_OVERFLOW: return {0.0, 0};
    case Rule::EQUAL: return {share_of_equals(before, arguments), 0};
    case Rule::UNEQUAL: return {1.0 - share_of_equals(before, arguments), 0};
    case Rule::ABOVE:
    case Rule::BELOW: {
      // Counts of which the mean is known are all alike: each of the experts has tokens.
      if (std::isnan(before.mean) || arguments.size() < 2 || !arguments[1].isScalar()) return {};
      const bool above = before.mean > arguments[1].toScalar().toDouble();
      return {above == (rule == Rule::ABOVE) ? 1.0 : 0.0, 0};
    }
    case Rule::BOTH:
    case Rule::EITHER: {
      if (result.scalar_type() != c10::kBool || arguments.size() < 2 || !arguments[1].isTensor()) return {};
      const double one = mean_of(before, c10::kBool), other = mean_of(estimate_of(arguments[1].toTensor()), c10::kBool);
      return {rule == Rule::BOTH ? one * other : 1.0 - (1.0 - one) * (1.0 - other), 0};
    }
    case Rule::NEITHER:
      if (result.scalar_type() != c10::kBool) return {};
      return {1.0 - mean_of(before, c10::kBool), 0};
    case Rule::SUM:
      if (!c10::isIntegralType(input.scalar_type(), true)) return {};
      return {mean_of(before, input.scalar_type()) * elements / results, 0};
    case Rule::HISTOGRAM: return {elements / results, 0};
    case Rule::INDEX: {
      if (!c10::isIntegralType(result.scalar_type(), false)) return before;
      int64_t dimension = -1;
      for (size_t i = arguments.size() > 1 ? arguments.size() - 1 : 0; i >= 1; --i)
        if (arguments[i].isInt()) dimension = arguments[i].toInt();
      const auto rank = input.dim();
      if (dimension < -rank || dimension >= rank) dimension = rank - 1;
      return {std::nan(""), rank ? static_cast<double>(input.size(dimension)) : 1.0};
    }
    case Rule::SCATTERED: {
      // self, dim, index, value: every index writes one value over what is zero, which is how one_hot is made.
      if (arguments.size() < 4 || !arguments[2].isTensor() || !arguments[3].isScalar()) return {};
      const auto written = static_cast<double>(arguments[2].toTensor().numel()) / elements;
      return {arguments[3].toScalar().toDouble() * std::min(written, 1.0), 0};
    }
    case Rule::NONE: return {};
  }
  return {};
}

// Returns how many elements of a condition hold: counted where it has values, else expected and noted.
inline int64_t count_holding(const at::Tensor& condition) {
  ++asked_for[SHAPE];
  return expected_count(mean_of(estimate_of(condition), condition.scalar_type()), condition.numel());
}

inline at::Tensor outlined_empty(at::IntArrayRef size, c10::ScalarType type) {
  return at::empty(size, at::TensorOptions().dtype(type).device(c10::kMeta));
}

}  // namespace npu
