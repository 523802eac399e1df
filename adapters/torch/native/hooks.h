// What PyTorch asks of the device as a whole: generators, pinned memory, the present device.
#pragma once

#include <map>
#include <mutex>

#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "generator.h"
#include "storage.h"

namespace npu {

// Host memory that counts as page-locked: nothing is locked, PyTorch only has to recognise it.
class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    auto memory = c10::GetCPUAllocator()->allocate(bytes);
    void* data = memory.get();
    {
      std::lock_guard<std::mutex> lock(mutex());
      blocks()[reinterpret_cast<uintptr_t>(data)] = bytes;
    }
    return {data, new c10::DataPtr(std::move(memory)), &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { std::memcpy(to, from, bytes); }

  static bool holds(const void* pointer) {
    std::lock_guard<std::mutex> lock(mutex());
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    auto after = blocks().upper_bound(address);
    if (after == blocks().begin()) return false;
    --after;
    return address == after->first || address < after->first + after->second;
  }

 private:
  static void release(void* context) {
    auto* memory = static_cast<c10::DataPtr*>(context);
    {
      std::lock_guard<std::mutex> lock(mutex());
      blocks().erase(reinterpret_cast<uintptr_t>(memory->get()));
    }
    delete memory;
  }
  static std::mutex& mutex() {
    static auto* instance = new std::mutex();
    return *instance;
  }
  static std::map<uintptr_t, size_t>& blocks() {
    static auto* instance = new std::map<uintptr_t, size_t>();
    return *instance;
  }
};

struct Hooks final : at::PrivateUse1HooksInterface {
  // Without "override", because PyTorch does not ask for them up to 2.6.
  bool isBuilt() const { return true; }
  bool isAvailable() const { return device_count > 0; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return static_cast<c10::DeviceIndex>(device_count.load()); }
  c10::DeviceIndex getCurrentDevice() const override { return current_device; }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    check_index(index);
    current_device = index;
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    const auto before = current_device;
    if (index >= 0) setCurrentDevice(index);
    return before;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override { return exchangeDevice(index); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override { return default_generator(index); }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override { return new_generator(index); }
  bool isPinnedPtr(const void* data) const override { return PinnedAllocator::holds(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    static auto* instance = new PinnedAllocator();
    return instance;
  }
  at::Device getDeviceFromPtr(void*) const override { return device_of(-1); }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto* device = storage.unsafeGetStorageImpl();
    auto* twin = twin_of(*device).get();
    if (!twin->resizable()) TORCH_CHECK(false, "Trying to resize storage that is not resizable");
    auto data = c10::GetCPUAllocator()->allocate(bytes);
    if (data.get() && twin->data()) std::memcpy(data.get(), twin->data(), std::min(bytes, twin->nbytes()));
    twin->set_data_ptr_noswap(std::move(data));
    twin->set_nbytes(bytes);
    follow_twin(*device);
  }
};

}  // namespace npu
