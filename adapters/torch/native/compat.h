// What differs between the releases of PyTorch that the device is compiled with, 2.6.0 to the newest. Each difference is
// recognised by what a release has, not by its version, so that a release which nobody has tried is served, too.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>
#include <torch/library.h>

#if __has_include(<c10/core/AllocatorConfig.h>)  // from 2.9
#include <c10/core/AllocatorConfig.h>
#define DRYNPU_PYTORCH_READS_SETTINGS 1
#else
#define DRYNPU_PYTORCH_READS_SETTINGS 0
#endif

namespace npu {

// Makes a node of the autograd graph: counted inside the object from 2.13, by a shared pointer before.
template <typename Node, typename... Arguments>
auto make_node(Arguments&&... arguments) {
  if constexpr (std::is_constructible_v<torch::autograd::Edge, c10::intrusive_ptr<torch::autograd::Node>, uint32_t>)
    return c10::make_intrusive<Node>(std::forward<Arguments>(arguments)...);
  else
    // PyTorch's deleter, because a long chain of nodes would overflow the stack. The call depends on the type, so a
    // release without the function compiles.
    return std::shared_ptr<Node>(new Node(std::forward<Arguments>(arguments)...), [](Node* node) { deleteNode(node); });
}

// Has operators without a gradient say so in the backward pass, as for other devices. PyTorch registers this by itself
// from 2.10, and refuses a second one.
inline void serve_autograd(torch::Library& m) {
  if (!c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(c10::DispatchKey::AutogradPrivateUse1))
    m.fallback(torch::autograd::basicAutogradNotImplementedFallback());
}

// Has torch.Generator take generators of the device from *make*. From 2.7 it asks the hooks.
inline void serve_generators(at::Generator (*make)(c10::DeviceIndex)) {
  using Asked = decltype(&at::PrivateUse1HooksInterface::getNewGenerator);
  if constexpr (!std::is_same_v<Asked, at::Generator (at::PrivateUse1HooksInterface::*)(c10::DeviceIndex) const>)
    static at::_GeneratorRegister registered(make);
}

#if DRYNPU_PYTORCH_READS_SETTINGS

using PyTorchSettings = c10::CachingAllocator::AcceleratorAllocatorConfig;

inline bool is_setting_of_pytorch(const std::string& key) { return PyTorchSettings::getKeys().count(key) != 0; }

// Has PyTorch accept *keys* in its settings and call *read* with each text, where it can be asked (from 2.11) which reader
// it has. It keeps one reader and refuses a key that is there already, and a build for CUDA has registered both: that
// reader goes on, and its keys stay as they are.
template <typename Settings = PyTorchSettings>
bool hear_settings(std::function<void(const std::string&)> read, const std::unordered_set<std::string>& keys) {
  if constexpr (requires { Settings::getConfigParserHook(); }) {
    std::unordered_set<std::string> missing;
    for (const auto& key : keys)
      if (!is_setting_of_pytorch(key)) missing.insert(key);
    auto before = Settings::getConfigParserHook();
    Settings::registerDeviceConfigParserHook(
        [before, read](const std::string& text) {
          if (before) before(text);
          read(text);
        },
        missing);
    return true;
  }
  return false;
}

#else

inline bool is_setting_of_pytorch(const std::string&) { return false; }
inline bool hear_settings(const std::function<void(const std::string&)>&, const std::unordered_set<std::string>&) {
  return false;
}

#endif

}  // namespace npu
