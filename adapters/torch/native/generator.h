// Random numbers of a device: a generator of its own, which draws what the CPU's would draw from the same seed.
#pragma once

#include <array>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include "device.h"

namespace npu {

class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  DeviceGenerator(c10::DeviceIndex index, at::Generator inner)
      : GeneratorImpl(c10::Device(TYPE, index), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        host(std::move(inner)) {}

  void set_current_seed(uint64_t seed) override { host.set_current_seed(seed); }
  void set_offset(uint64_t offset) override { host.set_offset(offset); }
  uint64_t get_offset() const override { return host.get_offset(); }
  uint64_t current_seed() const override { return host.current_seed(); }
  uint64_t seed() override { return host.seed(); }
  void set_state(const c10::TensorImpl& state) override { host.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return host.unsafeGetGeneratorImpl()->get_state();
  }

  // The generator that kernels of the CPU draw from.
  at::Generator host;

 private:
  DeviceGenerator* clone_impl() const override { return new DeviceGenerator(device().index(), host.clone()); }
};

inline at::Generator new_generator(c10::DeviceIndex index) {
  return at::make_generator<DeviceGenerator>(device_of(index).index(), at::detail::createCPUGenerator());
}

// Set by the Python side, so that PyTorch and scripts hold the same objects. Never destroyed: see memory_of.
inline std::array<at::Generator, MOST_DEVICES>& default_generators() {
  static auto* generators = new std::array<at::Generator, MOST_DEVICES>();
  return *generators;
}

inline const at::Generator& default_generator(c10::DeviceIndex index) {
  auto& generator = default_generators()[device_of(index).index()];
  if (!generator.defined()) generator = new_generator(index);
  return generator;
}

inline void set_default_generator(std::optional<at::Generator> generator, int64_t index) {
  if (generator) default_generators()[static_cast<size_t>(index)] = std::move(*generator);
}

// Returns the CPU generator behind a generator of the device, or behind the default one if none is given.
inline at::Generator host_generator(const std::optional<at::Generator>& given, c10::DeviceIndex device) {
  const at::Generator& generator = given && given->defined() ? *given : default_generator(device);
  TORCH_CHECK(
      generator.device().type() == TYPE, "Expected a 'npu' device type for generator but found '", generator.device(),
      "'");
  return static_cast<DeviceGenerator*>(generator.unsafeGetGeneratorImpl())->host;
}

}  // namespace npu
