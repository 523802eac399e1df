// The threads in which PyTorch runs the backward pass of each device.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>

#include "compat.h"
#include "device.h"

namespace npu {

// Protected members of the engine that PyTorch has no getters for.
// N20, docs/tricks.md
struct EngineAccess : torch::autograd::Engine {
  static auto queues() { return &EngineAccess::device_ready_queues_; }
};

// A backward pass of one step that computes nothing.
struct NoGradients final : torch::autograd::Node {
  torch::autograd::variable_list apply(torch::autograd::variable_list&&) override { return {}; }
};

// Gives every thread a backward pass that does nothing, and returns when all are through with it.
inline void pass_through(torch::autograd::Engine& engine, size_t threads) {
  for (size_t i = 0; i < threads && i < static_cast<size_t>(device_count); ++i) {
    const auto device = c10::Device(TYPE, static_cast<c10::DeviceIndex>(i));
    const auto gradient = at::empty({0}, at::TensorOptions().device(device));
    auto node = make_node<NoGradients>();
    node->add_input_metadata(gradient);
    engine.execute({{std::move(node), 0}}, {gradient}, false, false, true);
  }
}

// Waits until every thread has let go of the backward passes that it worked on; returns whether that was so in time.
//
// backward() returns when its last gradient is there, while a thread may still hold the pass and Python objects in it.
// To release those it needs the interpreter's lock, and a thread that waits for it when the interpreter ends ends the
// process: "terminate called without an active exception". A thread begins a task only when it holds no other. The tasks
// come from a new thread, because a pass keeps what is local to the thread that began it, Python objects among it.
inline bool finish_backward(double longest_s) {
  auto& engine = torch::autograd::Engine::get_default_engine();
  const size_t threads = (engine.*EngineAccess::queues()).size();
  if (!threads) return true;
  auto done = std::make_shared<std::promise<void>>();
  auto finished = done->get_future();
  std::thread([done, threads, &engine] {
    try {
      pass_through(engine, threads);
    } catch (const std::exception&) {
      // Nothing can be told where the process ends; the threads are then left as PyTorch leaves them.
    }
    done->set_value();
  }).detach();
  return finished.wait_for(std::chrono::duration<double>(longest_s)) == std::future_status::ready;
}

}  // namespace npu
