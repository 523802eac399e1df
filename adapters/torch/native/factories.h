// Factories of op-plugin (opapi/*KernelNpuOpApi.cpp), which leave pin_memory away before they ask for memory; empty() refuses it.
#pragma once

#include <ATen/ops/arange_native.h>
#include <ATen/ops/eye_native.h>
#include <ATen/ops/linspace_native.h>
#include <ATen/ops/ones_native.h>
#include <ATen/ops/zeros_native.h>
#include <torch/library.h>

namespace npu::factories {

using Type = std::optional<at::ScalarType>;
using Layout = std::optional<at::Layout>;
using Where = std::optional<at::Device>;
using Pinned = std::optional<bool>;
using Number = const at::Scalar&;

inline at::Tensor zeros(c10::SymIntArrayRef size, Type type, Layout layout, Where where, Pinned) {
  return at::native::zeros_symint(size, type, layout, where);
}
inline at::Tensor ones(c10::IntArrayRef size, Type type, Layout layout, Where where, Pinned) {
  return at::native::ones(size, type, layout, where);
}
inline at::Tensor range_to(Number end, Type type, Layout layout, Where where, Pinned) {
  return at::native::arange(end, type, layout, where);
}
inline at::Tensor range_from(Number start, Number end, Type type, Layout layout, Where where, Pinned) {
  return at::native::arange(start, end, type, layout, where);
}
inline at::Tensor range_by(Number start, Number end, Number step, Type type, Layout layout, Where where, Pinned) {
  return at::native::arange(start, end, step, type, layout, where);
}
inline at::Tensor eye(int64_t n, Type type, Layout layout, Where where, Pinned) {
  return at::native::eye(n, type, layout, where);
}
inline at::Tensor eye_of(int64_t n, int64_t m, Type type, Layout layout, Where where, Pinned) {
  return at::native::eye(n, m, type, layout, where);
}
inline at::Tensor linspace(Number start, Number end, int64_t steps, Type type, Layout layout, Where where, Pinned) {
  return at::native::linspace(start, end, steps, type, layout, where);
}

inline void serve(torch::Library& m) {
  m.impl("zeros", TORCH_FN(zeros));
  m.impl("ones", TORCH_FN(ones));
  m.impl("arange", TORCH_FN(range_to));
  m.impl("arange.start", TORCH_FN(range_from));
  m.impl("arange.start_step", TORCH_FN(range_by));
  m.impl("eye", TORCH_FN(eye));
  m.impl("eye.m", TORCH_FN(eye_of));
  m.impl("linspace", TORCH_FN(linspace));
}

}  // namespace npu::factories
