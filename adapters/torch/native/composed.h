// Tensors of the device that consist of others: sparse and nested ones, and quantized ones, which have a quantizer.
//
// On the host each becomes one of the same kind that consists of the aliases of its parts.
#pragma once

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/quantized/QTensorImpl.h>

#include "alias.h"

namespace npu {

// The kinds, by the keys of their kernels on the device and on the host.
struct Kind {
  c10::DispatchKey kind, device, host;
};

constexpr Kind KINDS[] = {
    {c10::DispatchKey::Sparse, c10::DispatchKey::SparsePrivateUse1, c10::DispatchKey::SparseCPU},
    {c10::DispatchKey::SparseCsr, c10::DispatchKey::SparseCsrPrivateUse1, c10::DispatchKey::SparseCsrCPU},
    {c10::DispatchKey::Quantized, c10::DispatchKey::QuantizedPrivateUse1, c10::DispatchKey::QuantizedCPU},
    {c10::DispatchKey::NestedTensor, c10::DispatchKey::NestedTensorPrivateUse1, c10::DispatchKey::NestedTensorCPU},
};

// Returns the keys of the host's kernels for an operator that was called by *called*.
inline c10::DispatchKeySet composed_host_keys(c10::DispatchKeySet called) {
  c10::DispatchKeySet keys(c10::DispatchKey::CPU);
  for (const auto& each : KINDS)
    if (called.has(each.device)) keys = keys | c10::DispatchKeySet(each.host);
  return keys;
}

inline bool is_of(const c10::TensorImpl* tensor, c10::DispatchKey kind) {
  return tensor->key_set().has_any(c10::DispatchKeySet(kind));
}

// What makes a tensor of the other side from one of this: its keys, and what to do with each part.
template <typename F>
TensorPointer compose(c10::TensorImpl* from, bool to_device, c10::Device device, F&& part) {
  const auto keys = [&](c10::DispatchKey kind) {
    for (const auto& each : KINDS)
      if (each.kind == kind) return c10::DispatchKeySet(to_device ? each.device : each.host);
    return c10::DispatchKeySet();
  };
  if (is_of(from, c10::DispatchKey::Sparse)) {
    const auto* source = static_cast<at::SparseTensorImpl*>(from);
    auto made = c10::make_intrusive<at::SparseTensorImpl>(keys(c10::DispatchKey::Sparse), from->dtype());
    made->raw_resize_(source->sparse_dim(), source->dense_dim(), source->sizes());
    made->set_indices_and_values_unsafe(part(source->indices()), part(source->values()));
    made->set_coalesced(source->coalesced());
    return made;
  }
  if (is_of(from, c10::DispatchKey::SparseCsr)) {
    const auto* source = static_cast<at::SparseCsrTensorImpl*>(from);
    auto made = c10::make_intrusive<at::SparseCsrTensorImpl>(
        keys(c10::DispatchKey::SparseCsr), device, source->layout(), from->dtype());
    made->set_member_tensors(
        part(source->compressed_indices()), part(source->plain_indices()), part(source->values()), source->sizes());
    return made;
  }
  const auto* source = static_cast<at::native::NestedTensorImpl*>(from);
  return c10::make_intrusive<at::native::NestedTensorImpl>(
      part(source->get_unsafe_storage_as_tensor()), source->get_nested_sizes(), source->get_nested_strides(),
      source->get_storage_offsets());
}

inline TensorPointer compose_quantized(
    c10::TensorImpl* from, c10::DispatchKey key, c10::Storage storage, c10::Device device) {
  auto made = c10::make_intrusive<at::QTensorImpl>(
      std::move(storage), c10::DispatchKeySet(key), from->dtype(), static_cast<at::QTensorImpl*>(from)->quantizer());
  made->set_sizes_and_strides(from->sizes(), from->strides(), from->storage_offset());
  made.get()->*Access::device() = device;
  return made;
}

// Meta has kernels for few of them, and a sparse one has as many elements as its values say.
inline void require_values(const c10::TensorImpl* tensor, bool has_values) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      has_values, "CAUTION: The operator is not currently supported on the NPU backend for tensors of layout ",
      tensor->layout(), " without values (DRYNPU_COMPUTE=0).", tag(OPS_NOT_SUPPORTED));
}

inline const at::Tensor& Aliases::composed_on_host(c10::TensorImpl* tensor, bool written) {
  require_values(tensor, !outlined);
  for (auto& each : composed_)
    if (each.original == tensor) {
      each.written |= written;
      return each.alias;
    }
  if (device < 0) device = tensor->device().index();
  TensorPointer alias;
  if (is_of(tensor, c10::DispatchKey::Quantized)) {
    auto storage = StoragePointer::reclaim_copy(tensor->unsafe_storage().unsafeGetStorageImpl());
    alias = compose_quantized(tensor, c10::DispatchKey::QuantizedCPU, c10::Storage(twin_of(*storage)), c10::kCPU);
    add_storage(std::move(storage));
  } else {
    alias = compose(tensor, false, c10::kCPU, [&](const at::Tensor& part) {
      require_values(tensor, holding_of(*part.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl()).has_values);
      return cpu(part, written);
    });
  }
  composed_.push_back({tensor, at::Tensor(std::move(alias)), written});
  return composed_.back().alias;
}

inline at::Tensor Aliases::composed_on_device(c10::TensorImpl* tensor) {
  for (auto& each : composed_)
    if (each.alias.unsafeGetTensorImpl() == tensor) return each.tensor();
  require_values(tensor, !outlined);
  const c10::Device where(TYPE, device < 0 ? current_device : device);
  SelectedDevice selected(where.index());
  if (is_of(tensor, c10::DispatchKey::Quantized))
    return at::Tensor(compose_quantized(
        tensor, c10::DispatchKey::QuantizedPrivateUse1, c10::Storage(original_storage(tensor->unsafe_storage())), where));
  return at::Tensor(compose(tensor, true, where, [&](const at::Tensor& part) { return device_result(part); }));
}

inline void Aliases::follow_composed() {
  for (auto& each : composed_) {
    if (!each.written) continue;
    auto* tensor = each.original;
    auto* alias = each.alias.unsafeGetTensorImpl();
    if (is_of(tensor, c10::DispatchKey::Sparse)) {
      auto* source = static_cast<at::SparseTensorImpl*>(alias);
      auto* target = static_cast<at::SparseTensorImpl*>(tensor);
      target->raw_resize_(source->sparse_dim(), source->dense_dim(), source->sizes());
      target->set_indices_and_values_unsafe(device_result(source->indices()), device_result(source->values()));
      target->set_coalesced(source->coalesced());
    } else if (is_of(tensor, c10::DispatchKey::SparseCsr)) {
      auto* source = static_cast<at::SparseCsrTensorImpl*>(alias);
      static_cast<at::SparseCsrTensorImpl*>(tensor)->set_member_tensors(
          device_result(source->compressed_indices()), device_result(source->plain_indices()),
          device_result(source->values()), source->sizes());
    } else if (is_of(tensor, c10::DispatchKey::Quantized)) {
      static_cast<at::QTensorImpl*>(tensor)->set_quantizer_(static_cast<at::QTensorImpl*>(alias)->quantizer());
      tensor->*Access::storage_place() = c10::Storage(original_storage(alias->unsafe_storage()));
      tensor->set_sizes_and_strides(alias->sizes(), alias->strides(), alias->storage_offset());
    }
  }
}

}  // namespace npu
