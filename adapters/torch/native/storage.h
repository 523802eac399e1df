// Storages of the device. Each holds a twin: the storage of the CPU whose memory it is. CPU kernels work on the twin.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include "memory.h"
#include "recorder.h"
#include "values.h"

namespace npu {

using StoragePointer = c10::intrusive_ptr<c10::StorageImpl>;

// The context of a device storage's data pointer: what has to be given back with it.
struct Holding {
  Holding(StoragePointer twin, Block* block, c10::DeviceIndex device)
      : twin(std::move(twin)), block(block), address(block ? block->address : 0), size(block ? block->size : 0), device(device) {}

  StoragePointer twin;
  Block* block;
  int64_t address, size;  // of the block, which stays as it is while it is held, and is long out of the processor's caches
  c10::DeviceIndex device;
  // Where values are not computed: a storage of the same size without memory, the twin itself if that has none, and
  // whether the twin has the values.
  StoragePointer outline{};
  std::atomic<bool> has_values{true};
  Estimate estimate{};
};

inline void report(void* data, int64_t bytes, int device) {
  if (recording_memory.load(std::memory_order_relaxed)) note_allocation(data, bytes);
  if (c10::memoryProfilingEnabled())
    c10::reportMemoryUsageToProfiler(data, bytes, 0, 0, c10::Device(TYPE, device));
}

// Returns what a script sees as the address of a storage: its memory, or its block where it may have none.
inline void* address_of(c10::StorageImpl& twin, const Block* block) {
  if (computing) return twin.mutable_data();
  return block ? reinterpret_cast<void*>(block->address) : nullptr;
}

inline StoragePointer make_outline(size_t bytes) {
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, c10::GetAllocator(c10::kMeta), /*resizable=*/true);
}

inline void release_holding(void* context) {
  auto* holding = static_cast<Holding*>(context);
  if (holding->block) {
    report(address_of(*holding->twin, holding->block), -holding->block->requested, holding->device);
    memory_of(holding->device).release(holding->block);
  }
  delete holding;
}

// Whether allocations of this thread take blocks. Allocations of a graph that runs do not: it has its memory.
inline thread_local constinit bool counts_memory = true;

inline Block* new_block(size_t bytes, c10::DeviceIndex device) {
  return bytes && counts_memory ? memory_of(device).allocate(static_cast<int64_t>(bytes), stream_of(device), device) : nullptr;
}

inline c10::DataPtr device_data(StoragePointer twin, Block* block, c10::DeviceIndex device) {
  void* data = address_of(*twin, block);
  const auto bytes = static_cast<int64_t>(twin->nbytes());
  if (block) report(data, bytes, device);
  auto* holding = new Holding(std::move(twin), block, device);
  if (!computing) {
    holding->has_values = holding->twin->device_type() == c10::kCPU;
    holding->outline = holding->has_values ? make_outline(holding->twin->nbytes()) : holding->twin;
  }
  return {data, holding, &release_holding, c10::Device(TYPE, device)};
}

// Returns a data pointer of the device that shares the memory of a CPU storage and keeps it alive.
inline c10::DataPtr device_data(StoragePointer twin, c10::DeviceIndex device) {
  Block* block = new_block(twin->nbytes(), device);
  return device_data(std::move(twin), block, device);
}

class DeviceAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    Block* block = new_block(bytes, current_device);  // first, for the device may be full where the host is not
    try {
      const bool outlined = !computing && static_cast<int64_t>(bytes) > most_computed_bytes;
      auto twin = outlined ? make_outline(bytes)
                           : c10::make_intrusive<c10::StorageImpl>(
                                 c10::StorageImpl::use_byte_size_t(), bytes, c10::GetCPUAllocator(), /*resizable=*/true);
      return device_data(std::move(twin), block, current_device);
    } catch (...) {
      if (block) memory_of(current_device).release(block);
      throw;
    }
  }
  // Raw pointers are asked for by nobody but extensions that free them by the deleter of the data pointer.
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { std::memcpy(to, from, bytes); }
};

inline DeviceAllocator* allocator() {
  static auto* instance = new DeviceAllocator();
  return instance;
}

inline StoragePointer device_storage(StoragePointer twin, c10::DeviceIndex device) {
  const size_t bytes = twin->nbytes();
  if (!computing && static_cast<int64_t>(bytes) > most_computed_bytes && twin->device_type() == c10::kCPU) twin = make_outline(bytes);
  auto data = device_data(std::move(twin), device);
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, std::move(data), allocator(), /*resizable=*/true);
}

// Gives a storage around foreign memory (at::from_blob, DLPack) a twin, which keeps what the storage kept.
inline void adopt_foreign(c10::StorageImpl& storage) {
  static auto* mutex = new std::mutex();
  std::lock_guard<std::mutex> lock(*mutex);
  auto& data = storage._mutable_data_ptr_no_checks();
  if (data.get_deleter() == &release_holding) return;  // another thread was first
  const auto device = device_of(data.device().index());
  void* memory = data.get();
  auto* kept = new c10::DataPtr(std::move(data));
  auto twin = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), storage.nbytes(),
      c10::DataPtr(memory, kept, [](void* context) { delete static_cast<c10::DataPtr*>(context); }, c10::kCPU),
      c10::GetCPUAllocator(), /*resizable=*/false);
  auto* holding = new Holding(std::move(twin), nullptr, device.index());
  if (!computing) holding->outline = make_outline(storage.nbytes());
  data = c10::DataPtr(memory, holding, &release_holding, device);
}

inline Holding& holding_of(const c10::StorageImpl& storage) {
  // The other getters check for storages that copy on write, which the device has none of.
  const auto& data = const_cast<c10::StorageImpl&>(storage)._mutable_data_ptr_no_checks();
  if (C10_UNLIKELY(data.get_deleter() != &release_holding)) adopt_foreign(const_cast<c10::StorageImpl&>(storage));
  return *static_cast<Holding*>(data.get_context());
}

// Returns the CPU's storage of a device storage.
inline const StoragePointer& twin_of(const c10::StorageImpl& storage) { return holding_of(storage).twin; }

// Follows the twin, or the outline, after a kernel has resized it.
inline void follow_twin(c10::StorageImpl& storage) {
  auto& holding = holding_of(storage);
  auto& used = computing || holding.has_values ? holding.twin : holding.outline;
  const bool moved = computing && holding.twin->data() != storage._mutable_data_ptr_no_checks().get();
  if (used->nbytes() == storage.nbytes() && !moved) return;
  const StoragePointer twin = used;
  const auto estimate = holding.estimate;
  storage.set_data_ptr_noswap(device_data(twin, holding.device));
  storage.set_nbytes(twin->nbytes());
  holding_of(storage).estimate = estimate;
}

}  // namespace npu
