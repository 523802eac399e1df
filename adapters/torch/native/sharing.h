// Storages in memory that processes share. Python makes that memory, as it does for PyTorch's tensors of the CPU.
#pragma once

#include <mutex>

#include "operators.h"

namespace npu {

inline c10::StorageImpl& storage_of(const at::Tensor& tensor) {
  return *tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

inline void require_bytes(const at::Tensor& tensor, c10::DeviceType type) {
  TORCH_CHECK(
      tensor.device().type() == type && is_plain(tensor.unsafeGetTensorImpl()) && tensor.has_storage(),
      "memory is shared by a plain tensor of ", type, ", not by one of ", tensor.device(), " with the layout ", tensor.layout());
}

// Returns all bytes of a storage as a tensor.
inline at::Tensor bytes_of(StoragePointer storage, c10::DispatchKey key) {
  const auto size = static_cast<int64_t>(storage->nbytes());
  auto bytes = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(std::move(storage)), c10::DispatchKeySet(key), caffe2::TypeMeta::Make<uint8_t>());
  bytes.unsafeGetTensorImpl()->set_sizes_contiguous({size});
  return bytes;
}

// Returns the whole storage of a tensor as the host sees it; nothing where values are not computed.
inline std::optional<at::Tensor> host_bytes(const at::Tensor& tensor) {
  require_bytes(tensor, TYPE);
  const auto& holding = holding_of(storage_of(tensor));
  if (holding.twin->device_type() != c10::kCPU || !holding.has_values) return std::nullopt;
  return bytes_of(holding.twin, c10::DispatchKey::CPU);
}

// Lets the storage of a tensor have the memory of *bytes*, which hold its values already. Aliases that are in use keep the
// memory that was before; like PyTorch's share_memory_ on the CPU it is not for a tensor that another thread writes.
inline void use_bytes(const at::Tensor& tensor, const at::Tensor& bytes) {
  require_bytes(tensor, TYPE);
  require_bytes(bytes, c10::kCPU);
  static auto* mutex = new std::mutex();
  std::lock_guard<std::mutex> lock(*mutex);
  auto& storage = storage_of(tensor);
  auto& holding = holding_of(storage);
  TORCH_CHECK(
      storage_of(bytes).nbytes() == storage.nbytes(), "a storage of ", storage.nbytes(), " bytes cannot have the memory of ",
      storage_of(bytes).nbytes());
  const StoragePointer before = std::exchange(holding.twin, StoragePointer::reclaim_copy(&storage_of(bytes)));
  auto& data = storage._mutable_data_ptr_no_checks();
  void* address = address_of(*holding.twin, holding.block);
  if (address == data.get()) return;
  if (holding.block) {
    report(data.get(), -holding.block->requested, holding.device);
    report(address, holding.block->requested, holding.device);
  }
  void* context = data.release_context();
  data = c10::DataPtr(address, context, &release_holding, c10::Device(TYPE, holding.device));
}

// Returns a tensor of the device in the memory of *bytes*, which the device's allocator does not count: its maker's does.
inline at::Tensor device_bytes(const at::Tensor& bytes, int64_t index) {
  require_bytes(bytes, c10::kCPU);
  const auto device = static_cast<c10::DeviceIndex>(index);
  auto twin = StoragePointer::reclaim_copy(&storage_of(bytes));
  const auto size = static_cast<int64_t>(twin->nbytes());
  auto data = device_data(std::move(twin), computing ? nullptr : new_block(static_cast<size_t>(size), device), device);
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), size, std::move(data), nullptr, /*resizable=*/false);
  return bytes_of(std::move(storage), c10::DispatchKey::PrivateUse1);
}

}  // namespace npu
