// What stands for values where none are computed (DRYNPU_COMPUTE=0).
//
// Tensors of the device then have shapes and places alone: operators run their Meta kernels. Small tensors whose values
// follow from values of the host are computed after all, as scripts decide by them (masks, positions, sizes).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace npu {

// Set once by the Python side, before the first tensor.
inline std::atomic<bool> computing{true};

// Tensors of more bytes never have values; set with the flag above (computed_bytes of the settings).
inline std::atomic<int64_t> most_computed_bytes{0};

// The stand-in of a floating-point value: finite, and neither its logarithm nor its inverse is an error.
inline std::atomic<double> stand_in{1.0};

// How the values of a tensor are distributed, as far as an operator tells; NAN where it does not.
struct Estimate {
  double mean = std::nan("");
  double choices = 0;  // how many values an index may have, all alike likely; 0 where unknown
};

// Stand-ins that the script was given, by what it asked for; in the order of Python's STAND_INS.
enum Asked { NUMBER, COPY, SHAPE, ASKED };
inline std::array<std::atomic<int64_t>, ASKED> asked_for{};

inline double default_mean(c10::ScalarType type) {
  if (type == c10::kBool) return 0.5;
  return c10::isFloatingType(type) || c10::isComplexType(type) ? stand_in.load() : 0.0;
}

inline double mean_of(const Estimate& estimate, c10::ScalarType type) {
  return std::isnan(estimate.mean) ? default_mean(type) : estimate.mean;
}

// How many of a number of elements hold, where a mean of them does; at least one of some.
inline int64_t expected_count(double mean, int64_t elements) {
  if (elements == 0 || mean <= 0) return 0;
  return std::clamp<int64_t>(std::llround(mean * static_cast<double>(elements)), 1, elements);
}

// How the values of an operator's results follow from the values of its first tensor.
enum class Rule { NONE, MOVED, FAILS, NO_OVERFLOW, SUM, EQUAL, UNEQUAL, ABOVE, BELOW, BOTH, EITHER, NEITHER, INDEX, SCATTERED, HISTOGRAM };

inline Rule rule_of(std::string_view name) {
  struct Row {
    Rule rule;
    std::initializer_list<std::string_view> names;
  };
  static const Row rows[] = {
      {Rule::MOVED,
       {"aten::clone", "aten::_to_copy", "aten::copy_", "aten::_copy_from", "aten::repeat", "aten::index",
        "aten::index_select", "aten::gather", "aten::cat", "aten::stack", "aten::masked_select", "aten::flip",
        "aten::roll", "aten::any", "aten::all", "aten::max", "aten::min", "aten::amax", "aten::amin", "aten::mean",
        "aten::_reshape_copy", "aten::constant_pad_nd", "aten::slice_scatter", "aten::select_scatter"}},
      {Rule::FAILS, {"aten::isnan", "aten::isinf", "aten::isposinf", "aten::isneginf"}},
      {Rule::NO_OVERFLOW, {"aten::_amp_foreach_non_finite_check_and_unscale_"}},
      {Rule::SUM, {"aten::sum"}},
      {Rule::EQUAL, {"aten::eq"}},
      {Rule::UNEQUAL, {"aten::ne"}},
      {Rule::ABOVE, {"aten::gt", "aten::ge"}},
      {Rule::BELOW, {"aten::lt", "aten::le"}},
      {Rule::BOTH, {"aten::mul", "aten::logical_and", "aten::bitwise_and", "aten::__and__"}},
      {Rule::EITHER, {"aten::logical_or", "aten::bitwise_or", "aten::__or__"}},
      {Rule::NEITHER, {"aten::logical_not", "aten::bitwise_not"}},
      {Rule::INDEX, {"aten::topk", "aten::argmax", "aten::argmin", "aten::sort", "aten::argsort"}},
      {Rule::SCATTERED, {"aten::scatter_", "aten::scatter"}},
      {Rule::HISTOGRAM, {"aten::histc", "aten::bincount"}},
  };
  for (const auto& row : rows)
    for (auto each : row.names)
      if (each == name) return row.rule;
  return Rule::NONE;
}

// Fills a tensor of the host as if it were a copy of one without values.
inline void fill_stand_in(const at::Tensor& target, const Estimate& estimate) {
  const auto type = target.scalar_type();
  const double mean = mean_of(estimate, type);
  if (type == c10::kBool) {
    target.fill_(mean > 0.5);
  } else if (c10::isIntegralType(type, false)) {
    // Whole numbers with the same sum as their mean: tokens of experts add up to all tokens.
    const auto count = target.numel();
    auto steps = at::arange(count + 1, target.options().dtype(c10::kDouble).device(c10::kCPU)).mul_(mean).round_();
    target.copy_(steps.slice(0, 1).sub(steps.slice(0, 0, count)).view(target.sizes()));
  } else {
    target.fill_(mean);
  }
}

}  // namespace npu
