// The npu device of drynpu: one translation unit, because PyTorch's headers take most of the time of a compilation.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/_nested_tensor_size_native.h>
#include <ATen/ops/_nested_tensor_storage_offsets_native.h>
#include <ATen/ops/_nested_tensor_strides_native.h>
#include <ATen/ops/_nested_view_from_buffer_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/core/TensorBody.h>

#include "autocast.h"
#include "cells.h"
#include "common.h"
#include "compat.h"
#include "dropout.h"
#include "factories.h"
#include "guard.h"
#include "hooks.h"
#include "interface.h"
#include "operators.h"
#include "recurrent.h"
#include "sharing.h"
#include "stacks.h"
#include "transport.h"

namespace npu {

C10_REGISTER_GUARD_IMPL(PrivateUse1, DeviceGuard)
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, allocator())

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }
TORCH_LIBRARY_IMPL(_, AutogradPrivateUse1, m) { serve_autograd(m); }

const std::set<std::string>& own_operators() {
  static const std::set<std::string> names{
      "empty", "empty_strided", "copy_", "native_dropout", "native_dropout_backward", "_copy_from", "_softmax", "_log_softmax",
      "_softmax_backward_data", "_log_softmax_backward_data"};
  return names;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  DirectOperators direct(m);
  serve_common(direct);
  // Operators of which the CPU has a kernel of its own, while any device would get a composed one: the CPU's serves, so
  // that values equal the CPU's. What is composed of lists alone (foreach) is faster in one piece.
  const auto serve = [&](const c10::OperatorName& name) {
    if (name.name.rfind("aten::", 0) != 0 || own_operators().count(name.name.substr(6))) return;
    const auto op = c10::Dispatcher::singleton().findOp(name);
    const bool composed = op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
                          op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
    const bool by_cpu = op->hasKernelForDispatchKey(c10::DispatchKey::CPU);
    const bool of_lists = name.name.rfind("aten::_foreach_", 0) == 0;
    if (!composed || !(by_cpu || of_lists)) return;
    auto local = name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name);
    if (direct.has(local)) return;
    m.impl(local.c_str(), torch::CppFunction::makeFromBoxedFunction<&fallback>());
  };
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) serve(name);
  m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  m.impl("view", TORCH_FN(at::native::view));
  m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  m.impl("_nested_view_from_buffer", TORCH_FN(at::native::_nested_view_from_buffer));
  m.impl("unfold", TORCH_FN(at::native::unfold));
  factories::serve(m);
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(empty_strided));
  m.impl("copy_", torch::CppFunction::makeFromBoxedFunction<&copy>());
  m.impl("_copy_from", TORCH_FN(copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  m.impl("_has_compatible_shallow_copy_type", TORCH_FN(has_compatible_shallow_copy_type));
  m.impl("record_stream", TORCH_FN(record_stream));
  m.impl("_local_scalar_dense", torch::CppFunction::makeFromBoxedFunction<&local_scalar>());
  m.impl("nonzero", torch::CppFunction::makeFromBoxedFunction<&nonzero>());
  m.impl("_amp_update_scale_", torch::CppFunction::makeFromBoxedFunction<&amp_update_scale>());
  m.impl("bincount", torch::CppFunction::makeFromBoxedFunction<&bincount>());
  m.impl("_unique2", torch::CppFunction::makeFromBoxedFunction<&unique>());
  m.impl("masked_select", torch::CppFunction::makeFromBoxedFunction<&masked_select>());
  m.impl("repeat_interleave.Tensor", torch::CppFunction::makeFromBoxedFunction<&repeat_interleave>());
  m.impl("native_dropout", TORCH_FN(native_dropout));
  m.impl("native_dropout_backward", TORCH_FN(native_dropout_backward));
  for (const char* name : {"_softmax", "_log_softmax"}) m.impl(name, torch::CppFunction::makeFromBoxedFunction<&softmax>());
  for (const char* name : {"_softmax_backward_data", "_log_softmax_backward_data"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&softmax_backward>());
  m.impl("_nnpack_spatial_convolution", TORCH_FN(spatial_convolution));
  m.impl("one_hot", TORCH_FN(one_hot));
  m.impl("lstm_cell", TORCH_FN(lstm_cell_of_input));
  m.impl("mish_backward", torch::CppFunction::makeFromBoxedFunction<&fallback>());
  serve_recurrent_layers(m);
  m.impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
  m.impl("_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
  m.impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
  m.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
  m.impl("convolution_overrideable", torch::CppFunction::makeFromBoxedFunction<&convolution>());
  m.impl("convolution_backward_overrideable", torch::CppFunction::makeFromBoxedFunction<&convolution_backward>());
  m.impl(
      "_scaled_dot_product_fused_attention_overrideable", torch::CppFunction::makeFromBoxedFunction<&attention>());
  m.impl(
      "_scaled_dot_product_fused_attention_overrideable_backward",
      torch::CppFunction::makeFromBoxedFunction<&attention_backward>());
}

// Composed of operators that are differentiated, so it is registered where these are.
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) { m.impl("lstm_cell", TORCH_FN(lstm_cell_of_input)); }

// Serves what the CPU has a kernel of for tensors of a kind that consists of others.
void serve_composed(torch::Library& m, c10::DispatchKey host) {
  static const std::set<std::string> own{
      "copy_", "q_per_channel_scales", "q_per_channel_zero_points", "_nested_tensor_size", "_nested_tensor_strides",
      "_nested_tensor_storage_offsets"};
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    if (!c10::Dispatcher::singleton().findOp(name)->hasKernelForDispatchKey(host)) continue;
    const auto local = name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name);
    if (!own.count(local)) m.impl(local.c_str(), torch::CppFunction::makeFromBoxedFunction<&composed_fallback>());
  }
  m.impl("copy_", torch::CppFunction::makeFromBoxedFunction<&composed_copy>());
}

void serve_others(torch::Library& m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&composed_fallback>()); }

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) { serve_others(m); }
TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m) { serve_others(m); }
TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m) { serve_others(m); }
TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, m) { serve_others(m); }

TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m) { serve_composed(m, c10::DispatchKey::SparseCPU); }
TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, m) { serve_composed(m, c10::DispatchKey::SparseCsrCPU); }
TORCH_LIBRARY_IMPL(aten, QuantizedPrivateUse1, m) {
  serve_composed(m, c10::DispatchKey::QuantizedCPU);
  m.impl("q_per_channel_scales", TORCH_FN(channel_scales));
  m.impl("q_per_channel_zero_points", TORCH_FN(channel_zero_points));
}
TORCH_LIBRARY_IMPL(aten, NestedTensorPrivateUse1, m) {
  serve_composed(m, c10::DispatchKey::NestedTensorCPU);
  // Sizes of the parts are tensors of the host on every device.
  m.impl("_nested_tensor_size", TORCH_FN(at::native::_nested_tensor_size));
  m.impl("_nested_tensor_strides", TORCH_FN(at::native::_nested_tensor_strides));
  m.impl("_nested_tensor_storage_offsets", TORCH_FN(at::native::_nested_tensor_storage_offsets));
}

TORCH_LIBRARY(drynpu, m) {
  m.def("set_default_generator(Generator? generator, int index) -> ()", &set_default_generator);
  m.def(
      "record_memory_history(bool wanted, int context, bool native_stacks, int most) -> ()", &record_memory_history);
  m.def(
      "memory_history(int device) -> (Tensor events, Tensor blocks, str[] files, str[] names, int[] lines, int[][] frames)",
      &memory_history);
  m.def("serve_collectives(str[] names) -> ()", &serve_collectives);
  m.def("host_bytes(Tensor tensor) -> Tensor?", &host_bytes);
  m.def("use_bytes(Tensor tensor, Tensor bytes) -> ()", &use_bytes);
  m.def("device_bytes(Tensor bytes, int device) -> Tensor", &device_bytes);
}

}  // namespace npu

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &npu::attention_choice)
}
