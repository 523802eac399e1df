// Types that the device computes in and the CPU does not: the operator runs in a wider type, and its results are narrowed.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace npu {

inline bool is_half(const at::Tensor& tensor) {
  return tensor.defined() && (tensor.scalar_type() == c10::kHalf || tensor.scalar_type() == c10::kBFloat16);
}

// Operators of which the CPU's kernel sums in half precision, while a device sums in single.
inline bool is_worse_narrow(std::string_view name) {
  for (std::string_view each : {"aten::slow_conv_transpose2d", "aten::slow_conv_transpose3d", "aten::grid_sampler_2d",
                                "aten::grid_sampler_2d_backward", "aten::grid_sampler_3d",
                                "aten::grid_sampler_3d_backward", "aten::mish_backward", "aten::upsample_linear1d",
                                "aten::upsample_bicubic2d", "aten::upsample_trilinear3d"})
    if (name == each || name == std::string(each) + ".out") return true;
  return false;
}

// Products of which the device promotes the operands' types, as aclnnMm, aclnnBatchMatMul, aclnnAddmm and others document,
// and gives the result the type of the first one; the CPU's kernels refuse different types.
inline bool promotes_operands(std::string_view name) {
  if (name.size() > 6 && name.back() == '_') name.remove_suffix(1);
  for (std::string_view each :
       {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::addbmm", "aten::addmv", "aten::dot"})
    if (name == each) return true;
  return false;
}

inline bool has_mixed_halves(const std::vector<c10::IValue>& arguments) {
  std::optional<c10::ScalarType> first;
  bool mixed = false, half = false;
  for (const auto& value : arguments) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const auto type = value.toTensor().scalar_type();
    half |= is_half(value.toTensor());
    mixed |= first && *first != type;
    first = type;
  }
  return mixed && half;
}

inline bool has_half(const std::vector<c10::IValue>& arguments) {
  for (const auto& value : arguments)
    if (value.isTensor() && is_half(value.toTensor())) return true;
  return false;
}

// Returns the type in which an operator may run that failed with this message.
inline std::optional<c10::ScalarType> wider_type(std::string_view message) {
  const auto says = [&](std::string_view text) { return message.find(text) != std::string_view::npos; };
  if (says("not implemented for 'Half'") || says("not implemented for 'BFloat16'") ||
      says("Unsupported datatype for add_relu:c10::") || says("Low precision dtypes not supported. Got "))
    return c10::kFloat;
  if (says("expected scalar type Long but found Int") || says("not implemented for 'Int'") ||
      says("Expected a long tensor for index, but got Int") ||
      says("expected target dtype to be Long or Byte, but got Int"))
    return c10::kLong;
  return std::nullopt;
}

// The arguments of one operator in wider types: halves in single precision, int32 in int64, as *types* say.
class Widening {
 public:
  Widening(const c10::SmallVector<bool, 12>& writes, const c10::SmallVector<c10::ScalarType, 2>& types)
      : writes_(writes), types_(types) {}

  c10::IValue argument(const c10::IValue& value, size_t place) {
    const bool written = place < writes_.size() && writes_[place];
    if (value.isTensor()) return widened(value.toTensor(), written);
    if (!value.isTensorList()) return value;
    c10::List<at::Tensor> list;
    for (const auto& item : value.toListRef()) list.push_back(widened(item.toTensor(), written));
    return list;
  }

  c10::IValue result(const c10::IValue& value) {
    if (value.isTensor()) return narrowed(value.toTensor());
    if (!value.isTensorList()) return value;
    c10::List<at::Tensor> list;
    for (const auto& item : value.toListRef()) list.push_back(narrowed(item.toTensor()));
    return list;
  }

 private:
  struct Pair {
    at::Tensor given, wide;
  };

  at::Tensor widened(const at::Tensor& tensor, bool written) {
    if (!first_ && tensor.defined() && at::isFloatingType(tensor.scalar_type())) first_ = tensor.scalar_type();
    const auto wide = wide_type(tensor);
    if (!wide) return tensor;
    auto copy = tensor.to(*wide);
    if (written) written_.push_back({tensor, copy});
    return copy;
  }

  std::optional<c10::ScalarType> wide_type(const at::Tensor& tensor) const {
    for (const auto type : types_)
      if (type == c10::kFloat ? is_half(tensor) : tensor.defined() && tensor.scalar_type() == c10::kInt) return type;
    return std::nullopt;
  }

  at::Tensor narrowed(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    for (const auto& [given, wide] : written_)
      if (wide.is_same(tensor)) {
        if (given.sizes() != wide.sizes()) const_cast<at::Tensor&>(given).resize_(wide.sizes());
        const_cast<at::Tensor&>(given).copy_(wide);
        return given;
      }
    // Indices that an operator returns are what they were.
    return first_ && tensor.scalar_type() == c10::kFloat ? tensor.to(*first_) : tensor;
  }

  const c10::SmallVector<bool, 12>& writes_;
  const c10::SmallVector<c10::ScalarType, 2>& types_;
  std::optional<c10::ScalarType> first_;
  std::vector<Pair> written_;
};

}  // namespace npu
