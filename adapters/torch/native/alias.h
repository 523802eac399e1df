// CPU tensors that share the memory of device tensors, for the time of one operator.
//
// A device tensor itself is never changed to be read: several threads may use one tensor at once (the backward pass,
// communication), and each has aliases of its own.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/SmallVector.h>

#include "storage.h"

namespace npu {

// Protected members of TensorImpl that PyTorch has no setters for.
struct Access : c10::TensorImpl {
  static auto device() { return &Access::device_opt_; }
  static auto keys() { return &Access::key_set_; }
  static auto storage_place() { return &Access::storage_; }
  static void copy(const c10::TensorImpl* from, c10::TensorImpl* to) { copy_generic_tensor_metadata(from, to); }
};

inline c10::DispatchKeySet host_keys(c10::DispatchKeySet keys, bool outlined = false) {
  const bool autocast = keys.has(c10::DispatchKey::AutocastPrivateUse1);
  keys = keys.remove_backend(c10::BackendComponent::PrivateUse1Bit) |
         c10::DispatchKeySet(outlined ? c10::BackendComponent::MetaBit : c10::BackendComponent::CPUBit);
  return autocast ? keys.remove(c10::DispatchKey::AutocastPrivateUse1).add(c10::DispatchKey::AutocastCPU) : keys;
}

inline c10::DispatchKeySet device_keys(c10::DispatchKeySet keys) {
  const bool autocast = keys.has(c10::DispatchKey::AutocastCPU);
  keys = keys.remove_backend(c10::BackendComponent::CPUBit).remove_backend(c10::BackendComponent::MetaBit) | c10::DispatchKeySet(c10::BackendComponent::PrivateUse1Bit);
  return autocast ? keys.remove(c10::DispatchKey::AutocastCPU).add(c10::DispatchKey::AutocastPrivateUse1) : keys;
}

// Whether a tensor is no more than memory with sizes; others consist of such tensors, or have a quantizer (composed.h).
inline bool is_plain(const c10::TensorImpl* tensor) {
  constexpr c10::DispatchKeySet COMPOSED{
      c10::DispatchKey::Sparse, c10::DispatchKey::SparseCsr, c10::DispatchKey::Quantized, c10::DispatchKey::NestedTensor};
  return !tensor->key_set().has_any(COMPOSED);
}

inline bool on_device(const c10::TensorImpl* tensor) { return tensor->device_type() == TYPE; }

using TensorPointer = c10::intrusive_ptr<c10::TensorImpl>;

// Aliases that are not in use, so that most operators create none. One per thread, of plain types, so that a thread may look
// at it to its end.
struct SpareAliases {
  static constexpr size_t MOST = 64;
  std::array<c10::TensorImpl*, MOST> tensors;
  size_t count, most;  // most is 0 before the first and after the end of the thread
};
inline thread_local constinit SpareAliases spare_aliases{};

struct SpareAliasesEnd {
  SpareAliasesEnd() { spare_aliases.most = SpareAliases::MOST; }
  ~SpareAliasesEnd() {
    spare_aliases.most = 0;
    while (spare_aliases.count) TensorPointer::reclaim(spare_aliases.tensors[--spare_aliases.count]);
  }
};

inline bool keep_spare_aliases() {
  static thread_local SpareAliasesEnd end;
  (void)end;
  return spare_aliases.count < spare_aliases.most;
}

// Returns a tensor of the CPU, or of Meta where it is *outlined*, with the storage that serves there. One that a graph keeps
// has to be *fresh*: those that were made in inference mode cannot be part of any.
inline TensorPointer make_alias(const c10::TensorImpl* tensor, bool outlined = false, bool fresh = false) {
  auto& spare = spare_aliases;
  const auto& holding = holding_of(*tensor->unsafe_storage().unsafeGetStorageImpl());
  c10::Storage twin(outlined ? holding.outline : holding.twin);
  TensorPointer alias;
  if (C10_UNLIKELY(fresh || !spare.count)) {
    alias = c10::make_intrusive<c10::TensorImpl>(
        c10::Storage(twin), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor->dtype());
  } else {
    alias = TensorPointer::reclaim(spare.tensors[--spare.count]);
  }
  Access::copy(tensor, alias.get());
  alias.get()->*Access::storage_place() = std::move(twin);
  alias.get()->*Access::keys() = host_keys(tensor->key_set(), outlined);
  alias.get()->*Access::device() = c10::Device(outlined ? c10::kMeta : c10::kCPU);
  // One that was made in inference mode counts no versions, which views of a tensor that is not made there ask for.
  if (!alias->is_inference() && !alias->version_counter().enabled()) alias->set_version_counter(c10::VariableVersion(0));
  return alias;
}

inline void return_alias(TensorPointer alias) {
  auto& spare = spare_aliases;
  // A kernel may have kept it, or have given it a gradient.
  if (alias.use_count() != 1 || alias->requires_grad()) return;
  if (C10_UNLIKELY(spare.count >= spare.most) && !keep_spare_aliases()) return;
  alias.get()->*Access::storage_place() = c10::Storage();
  spare.tensors[spare.count++] = alias.release();
}


// What a tensor was replaced by in the arguments of one operator.
struct Replaced {
  c10::TensorImpl* original;  // held by the caller, or among the kept values
  at::Tensor alias;
  bool written;
  at::Tensor tensor() const { return at::Tensor(TensorPointer::reclaim_copy(original)); }
};

// The arguments of one operator as the CPU sees them.
class Aliases {
 public:
  ~Aliases() {
    composed_.clear();  // first, because they hold the aliases of their parts
    for (auto& each : tensors_) return_alias(TensorPointer::reclaim(each.alias.unsafeReleaseTensorImpl()));
  }

  // The caller holds the tensor as long as the operator runs. The reference holds until the next argument.
  const at::Tensor& cpu(c10::TensorImpl* tensor, bool written) {
    const size_t looked_at = std::min<size_t>(tensors_.size(), 8);  // kernels compare few arguments for identity
    for (size_t i = 0; i < looked_at; ++i)
      if (tensors_[i].original == tensor) {
        tensors_[i].written |= written;
        return tensors_[i].alias;
      }
    if (C10_UNLIKELY(!is_plain(tensor))) return composed_on_host(tensor, written);
    TORCH_CHECK_NOT_IMPLEMENTED(
        tensor->has_storage() && tensor->layout() == c10::kStrided,
        "CAUTION: The operator is not currently supported on the NPU backend for tensors of layout ", tensor->layout(),
        ".", tag(OPS_NOT_SUPPORTED));
    if (device < 0) device = tensor->device().index();
    tensors_.push_back({tensor, at::Tensor(make_alias(tensor, outlined)), written});
    return tensors_.back().alias;
  }
  const at::Tensor& cpu(const at::Tensor& tensor, bool written) {
    keep(tensor);
    return cpu(tensor.unsafeGetTensorImpl(), written);
  }

  // Holds an argument that was replaced. The reference holds until the next one.
  const c10::IValue& keep(c10::IValue value) {
    kept_.push_back(std::move(value));
    return kept_.back();
  }

  // Arguments that were on the host before are not the device's when they are returned.
  void stays_on_host(const at::Tensor& tensor) { host_.push_back(tensor.unsafeGetTensorImpl()); }

  void add_storage(StoragePointer original) { storages_.push_back(std::move(original)); }

  // Takes over what the kernel did to the sizes and the storages of the tensors that it wrote.
  void follow_written() {
    for (auto& each : tensors_) {
      if (!each.written) continue;
      auto* tensor = each.original;
      auto* alias = each.alias.unsafeGetTensorImpl();
      auto* storage = tensor->unsafe_storage().unsafeGetStorageImpl();
      auto& holding = holding_of(*storage);
      if (outlined) holding.has_values = false;
      auto* used = (outlined ? holding.outline : holding.twin).get();
      if (alias->unsafe_storage().unsafeGetStorageImpl() != used)
        tensor->*Access::storage_place() = c10::Storage(original_storage(alias->unsafe_storage()));
      else if (storage->_mutable_data_ptr_no_checks().get_deleter() == &release_holding)
        follow_twin(*storage);
      if (alias->sizes() != tensor->sizes() || alias->strides() != tensor->strides() ||
          alias->storage_offset() != tensor->storage_offset() || alias->dtype() != tensor->dtype()) {
        const auto keys = tensor->key_set();
        const auto where = tensor->device();
        Access::copy(alias, tensor);
        tensor->*Access::keys() = keys;
        tensor->*Access::device() = where;
      }
    }
    if (C10_UNLIKELY(!composed_.empty())) follow_composed();
  }

  // Makes a result of the CPU a tensor of the device.
  at::Tensor device_result(at::Tensor result) {
    auto* tensor = result.unsafeGetTensorImpl();
    for (auto& each : tensors_)
      if (each.alias.unsafeGetTensorImpl() == tensor) return each.tensor();
    if (tensor->device_type() != c10::kCPU && !(outlined && tensor->device_type() == c10::kMeta)) return result;
    if (std::find(host_.begin(), host_.end(), tensor) != host_.end()) return result;
    if (C10_UNLIKELY(!is_plain(tensor))) return composed_on_device(tensor);
    TORCH_CHECK_NOT_IMPLEMENTED(
        tensor->has_storage() && tensor->layout() == c10::kStrided,
        "CAUTION: The operator is not currently supported on the NPU backend: its result has layout ", tensor->layout(),
        ".", tag(OPS_NOT_SUPPORTED));
    auto& storage = tensor->*Access::storage_place();
    if (C10_UNLIKELY(storage.use_count() == 1 && is_turned(*tensor))) return device_result(in_order(result));
    // What nobody else has is the twin of no storage yet.
    if (C10_LIKELY(storage.use_count() == 1))
      storage = c10::Storage(device_storage(StoragePointer::reclaim(storage.unsafeReleaseStorageImpl()), device));
    else
      storage = c10::Storage(original_storage(storage));
    tensor->*Access::keys() = device_keys(tensor->key_set());
    tensor->*Access::device() = c10::Device(TYPE, device);
    return result;
  }

  // Whether a new result lies in memory as the CPU was given its operands, where a device leaves it in the order of its
  // dims: scripts written for one call view() on it. Floating point stays, because sums are rounded in memory's order.
  static bool is_turned(const c10::TensorImpl& tensor) {
    if (tensor.is_contiguous() || !c10::isIntegralType(c10::typeMetaToScalarType(tensor.dtype()), true)) return false;
    return !tensor.is_strides_like_channels_last() && !tensor.is_strides_like_channels_last_3d();
  }

  static at::Tensor in_order(const at::Tensor& result) {
    at::DisableRecordFunctionGuard hidden;  // the device has no such kernel
    return result.contiguous();
  }

  bool empty() const { return tensors_.empty() && composed_.empty(); }

  // Calls a function with what replaces each tensor that the operator writes.
  template <typename F>
  void each_written(F&& function) const {
    for (const auto& each : tensors_)
      if (each.written) function(each);
  }

  c10::DeviceIndex device = -1;
  // Whether the operator runs on shapes alone.
  bool outlined = false;

 private:
  // The same for tensors that are more than memory with sizes.
  const at::Tensor& composed_on_host(c10::TensorImpl* tensor, bool written);
  at::Tensor composed_on_device(c10::TensorImpl* tensor);
  void follow_composed();

  // Returns the device storage whose twin this is: an argument's, or a new one.
  StoragePointer original_storage(const c10::Storage& storage) {
    auto* wanted = storage.unsafeGetStorageImpl();
    for (auto& each : tensors_) {
      const auto& original = each.original->unsafe_storage();
      const auto& holding = holding_of(*original.unsafeGetStorageImpl());
      if ((outlined ? holding.outline : holding.twin).get() == wanted)
        return StoragePointer::reclaim_copy(original.unsafeGetStorageImpl());
    }
    for (auto& each : storages_)
      if (twin_of(*each).get() == wanted || holding_of(*each).outline.get() == wanted) return each;
    storages_.push_back(device_storage(StoragePointer::reclaim_copy(wanted), device));
    return storages_.back();
  }

  c10::SmallVector<c10::IValue, 4> kept_;
  c10::SmallVector<Replaced, 8> tensors_;
  std::vector<Replaced> composed_;
  c10::SmallVector<StoragePointer, 2> storages_;
  c10::SmallVector<const c10::TensorImpl*, 4> host_;
};

}  // namespace npu
