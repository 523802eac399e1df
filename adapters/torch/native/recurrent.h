// Layers of LSTM and GRU. A device runs each layer and direction in one kernel (LstmKernelNpu.cpp and GruKernelNpu.cpp of
// Ascend/op-plugin); here the CPU's whole layer computes, so that values and gradients are the CPU's.
//
// PyTorch's own way composes a layer of a device from fused cells, whose sums are in another order than the CPU's. That
// way still serves what the device has no layer for: plain RNNs, packed sequences of GRUs, projections, transforms.
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/lstm_native.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "compat.h"
#include "fallback.h"

namespace npu {

using Tensors = std::vector<at::Tensor>;

constexpr const char* LSTM = "npu::npu_lstm";
constexpr const char* LSTM_BACKWARD = "npu::npu_lstm_backward";
constexpr const char* GRU = "npu::npu_gru";
constexpr const char* GRU_BACKWARD = "npu::npu_gru_backward";

// Blocks of the device that hold what its kernels make and a script never sees: no memory is behind them.
class Scratch {
 public:
  Scratch() = default;
  Scratch(Scratch&&) = default;
  Scratch& operator=(Scratch&&) = default;
  ~Scratch() { clear(); }

  void take(int64_t bytes, c10::DeviceIndex device) {
    Block* block = new_block(static_cast<size_t>(bytes), device);
    if (!block) return;
    blocks_.emplace_back(block, device);
    report(reinterpret_cast<void*>(block->address), bytes, device);
  }

  void clear() {
    for (auto [block, device] : blocks_) {
      report(reinterpret_cast<void*>(block->address), -block->requested, device);
      memory_of(device).release(block);
    }
    blocks_.clear();
  }

 private:
  std::vector<std::pair<Block*, c10::DeviceIndex>> blocks_;
};

// One layer in all its directions.
struct Layer {
  bool has_cell;           // LSTM, else GRU
  at::Tensor input;        // [steps, batch, width], of packed sequences [rows, width]
  at::Tensor operand;      // the same as the device's kernel takes it: contiguous
  at::Tensor batch_sizes;  // of packed sequences, in host memory; else undefined
  Tensors states;          // hidden state and cell, each [directions, batch, hidden]
  Tensors params;          // of each direction: weights of input and state, and the biases of both where there are any
  bool has_biases, train, bidirectional;

  Tensors tensors() const {
    Tensors all{input};
    all.insert(all.end(), states.begin(), states.end());
    all.insert(all.end(), params.begin(), params.end());
    return all;
  }
  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t hidden() const { return params[1].size(1); }
  int64_t steps() const { return batch_sizes.defined() ? batch_sizes.size(0) : input.size(0); }
  c10::DeviceIndex device() const { return input.device().index(); }

  // What the script sees: the output of all steps, and the states after the last one.
  Tensors outlined_outputs() const {
    auto sizes = input.sizes().vec();
    sizes.back() = directions() * hidden();
    Tensors outputs{outlined_empty(sizes, input.scalar_type())};
    for (const auto& state : states) outputs.push_back(outlined_empty(state.sizes(), input.scalar_type()));
    return outputs;
  }

  // What the kernels of all directions make besides: gates, states of all steps, and an LSTM's joined weights and biases.
  Scratch scratch() const {
    Scratch scratch;
    const int64_t bytes = static_cast<int64_t>(input.element_size());
    const int64_t sequence = steps() * states[0].size(1) * hidden() * bytes;
    for (int64_t i = 0; i < directions(); ++i) {
      if (has_cell) scratch.take((params[0].size(1) + hidden()) * params[0].size(0) * bytes, device());
      if (has_cell) scratch.take(params[0].size(0) * bytes, device());
      for (int made = 0; made < (has_cell ? 7 : 5); ++made) scratch.take(sequence, device());
    }
    return scratch;
  }

  // The tensors of one direction's kernel: input, weights, biases, states before the first step.
  std::vector<c10::IValue> operands(int64_t direction) const {
    const size_t each = has_biases ? 4 : 2, first = each * static_cast<size_t>(direction);
    std::vector<c10::IValue> found{operand, params[first], params[first + 1]};
    at::DisableRecordFunctionGuard hidden_calls;
    if (batch_sizes.defined()) found[0] = outlined_empty({steps(), states[0].size(1), input.size(1)}, input.scalar_type());
    for (size_t bias = 2; bias < 4; ++bias)
      found.emplace_back(has_biases ? params[first + bias] : outlined_empty({params[first].size(0)}, input.scalar_type()));
    for (const auto& state : states) found.emplace_back(bidirectional ? state.slice(0, direction, direction + 1) : state);
    return found;
  }
};

// Calls a function inside the range of the first direction's kernel; the other kernels follow. A recording knows the
// names of these ranges as the device's (_native.py of drynpu_torch/capture), so they need no marks.
template <typename F>
void in_kernels(const Layer& layer, const char* name, bool backwards, F&& function) {
  for (int64_t i = 0; i < layer.directions(); ++i) {
    const auto operands = layer.operands(backwards ? layer.directions() - 1 - i : i);
    RECORD_FUNCTION(name, operands);
    at::DisableRecordFunctionGuard hidden_calls;
    if (!i) function();
  }
}

inline Tensors run_on_host(const Layer& layer, const Tensors& inputs) {
  const auto first_param = inputs.begin() + 1 + static_cast<int64_t>(layer.states.size());
  const Tensors states(inputs.begin() + 1, first_param), params(first_param, inputs.end());
  if (!layer.has_cell) {
    auto [y, h] = at::gru(inputs[0], states[0], params, layer.has_biases, 1, 0.0, layer.train, layer.bidirectional, false);
    return {y, h};
  }
  auto [y, h, c] =
      layer.batch_sizes.defined()
          ? at::lstm(inputs[0], layer.batch_sizes, states, params, layer.has_biases, 1, 0.0, layer.train, layer.bidirectional)
          : at::lstm(inputs[0], states, params, layer.has_biases, 1, 0.0, layer.train, layer.bidirectional, false);
  return {y, h, c};
}

// The gradient of a layer: of the CPU's own graph, which the forward pass kept.
struct LayerGradient final : torch::autograd::Node {
  explicit LayerGradient(Layer forward) : has_cell(forward.has_cell), layer(std::move(forward)) {
    for (const auto& tensor : layer.tensors()) saved_.emplace_back(tensor, false);
  }

  std::string name() const override { return has_cell ? "NpuLstmBackward0" : "NpuGruBackward0"; }

  void release_variables() override {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& each : saved_) each.reset_data();
    inputs.clear();
    outputs.clear();
    scratch.clear();
    layer = Layer{};
  }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& each : saved_) each.unpack();  // raises where a tensor was changed or released since
    Tensors results(saved_.size());
    in_kernels(layer, has_cell ? LSTM_BACKWARD : GRU_BACKWARD, true, [&] { results = differentiate(gradients); });
    if (!at::GradMode::is_enabled()) return results;
    auto unknown = make_node<torch::autograd::NotImplemented>(
        has_cell ? LSTM_BACKWARD : GRU_BACKWARD, torch::autograd::collect_next_edges(gradients));
    for (auto& each : results)
      if (each.defined()) torch::autograd::set_history(each, unknown);
    return results;
  }

  const bool has_cell;
  Layer layer;
  Tensors inputs, outputs;  // of the CPU's graph; none where values are not computed
  Scratch scratch;

 private:
  Tensors differentiate(const Tensors& gradients) {
    Tensors results(saved_.size());
    Aliases aliases;
    aliases.device = layer.device();
    aliases.outlined = inputs.empty();
    if (aliases.outlined) {
      const auto tensors = layer.tensors();
      for (size_t i = 0; i < results.size(); ++i)
        if (task_should_compute_output(i))
          results[i] = aliases.device_result(outlined_empty(tensors[i].sizes(), tensors[i].scalar_type()));
      return results;
    }
    Tensors from, given, wanted;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (gradients[i].defined() && outputs[i].requires_grad()) {
        from.push_back(outputs[i]);
        given.push_back(aliases.cpu(gradients[i], false));
      }
    for (size_t i = 0; i < inputs.size(); ++i)
      if (task_should_compute_output(i)) wanted.push_back(inputs[i]);
    if (from.empty() || wanted.empty()) return results;
    auto found = torch::autograd::grad(from, wanted, given, /*retain_graph=*/true, /*create_graph=*/false, true);
    size_t next = 0;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (task_should_compute_output(i)) {
        auto& gradient = found[next++];
        if (gradient.defined()) results[i] = aliases.device_result(std::move(gradient));
      }
    return results;
  }

  std::vector<torch::autograd::SavedVariable> saved_;
};

inline bool runs_on_shapes(const Tensors& tensors) {
  if (computing) return false;
  torch::jit::Stack stack(tensors.begin(), tensors.end());
  return Outliner().decide(stack, 0);
}

// Runs one layer; returns its output and the states after the last step.
inline Tensors run_layer(const Layer& layer) {
  const auto tensors = layer.tensors();
  const bool differentiable = at::GradMode::is_enabled() && torch::autograd::any_variable_requires_grad(tensors);
  SelectedDevice selected(layer.device());
  Aliases aliases;
  aliases.device = layer.device();
  aliases.outlined = runs_on_shapes(tensors);
  Tensors inputs, outputs, results;
  Scratch scratch;
  in_kernels(layer, layer.has_cell ? LSTM : GRU, false, [&] {
    if (aliases.outlined) {
      outputs = layer.outlined_outputs();
    } else {
      // Each tensor has an alias of its own even where it is given twice, for each place has its own gradient.
      for (const auto& tensor : tensors) {
        inputs.emplace_back(make_alias(tensor.unsafeGetTensorImpl(), false, /*fresh=*/true));
        inputs.back().set_requires_grad(differentiable && tensor.requires_grad());
      }
      at::AutoGradMode graph(differentiable);
      std::optional<at::AutoDispatchBelowAutograd> without_graph;
      if (!differentiable) without_graph.emplace();  // aliases made in inference mode cannot be part of one
      outputs = run_on_host(layer, inputs);
    }
    for (const auto& output : outputs) results.push_back(aliases.device_result(output.detach()));
    scratch = layer.scratch();
  });
  if (!differentiable) return results;
  auto gradient = make_node<LayerGradient>(layer);
  gradient->set_next_edges(torch::autograd::collect_next_edges(tensors));
  gradient->inputs = std::move(inputs);
  if (!aliases.outlined) gradient->outputs = std::move(outputs);
  gradient->scratch = std::move(scratch);
  torch::autograd::set_history(results, gradient);
  return results;
}

// Whether the device's layers serve these tensors: plain ones of one device and type, without projections.
inline bool is_served(const Tensors& tensors, size_t params, int64_t layers, bool has_biases, bool bidirectional) {
  using Key = c10::DispatchKey;
  static const c10::DispatchKeySet transforms{
      Key::FuncTorchGradWrapper, Key::FuncTorchBatched, Key::FuncTorchVmapMode, Key::Functionalize, Key::Python};
  if (params != static_cast<size_t>(layers) * (has_biases ? 4 : 2) * (bidirectional ? 2 : 1)) return false;
  const auto type = tensors[0].scalar_type();
  const bool casts = at::autocast::is_autocast_enabled(TYPE);
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& each) {
    return each.defined() && on_device(each.unsafeGetTensorImpl()) && each.device() == tensors[0].device() &&
           !each.key_set().has_any(transforms) && each.layout() == c10::kStrided && each.has_storage() &&
           (each.scalar_type() == type || casts) && !each._fw_grad(0).defined();
  });
}

inline at::Tensor as_operand(const at::Tensor& input) {
  if (input.is_contiguous()) return input;
  at::NoGradGuard no_gradient;
  return input.contiguous();
}

inline at::Tensor of_type(const at::Tensor& tensor, c10::ScalarType type) {
  return tensor.scalar_type() == type ? tensor : tensor.to(type);
}

// Runs the layers one after the other, with dropout between them; the states of all are joined.
inline Tensors run_layers(
    bool has_cell, at::Tensor input, const at::Tensor& batch_sizes, const Tensors& states, at::TensorList params,
    bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional) {
  const auto type = input.scalar_type();
  const int64_t directions = bidirectional ? 2 : 1;
  const size_t each = static_cast<size_t>(directions) * (has_biases ? 4 : 2);
  std::vector<Tensors> last(states.size());
  for (int64_t i = 0; i < layers; ++i) {
    // The CPU's sums are in another order for a contiguous copy, so that serves the device alone.
    Layer layer{has_cell, input, as_operand(input), batch_sizes, {}, {}, has_biases, train, bidirectional};
    for (const auto& state : states)
      layer.states.push_back(of_type(layers > 1 ? state.slice(0, i * directions, (i + 1) * directions) : state, type));
    for (const auto& param : params.slice(static_cast<size_t>(i) * each, each))
      layer.params.push_back(of_type(param, type));
    auto results = run_layer(layer);
    input = results[0];
    if (dropout != 0 && train && i + 1 < layers) input = at::dropout(input, dropout, true);
    for (size_t state = 0; state < states.size(); ++state) last[state].push_back(results[1 + state]);
  }
  Tensors found{input};
  for (const auto& state : last) found.push_back(layers > 1 ? at::cat(state, 0) : state[0]);
  return found;
}

inline Tensors joined(const at::Tensor& input, at::TensorList states, at::TensorList params) {
  Tensors all{input};
  all.insert(all.end(), states.begin(), states.end());
  all.insert(all.end(), params.begin(), params.end());
  return all;
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm(
    const at::Tensor& input, at::TensorList states, at::TensorList params, bool has_biases, int64_t layers, double dropout,
    bool train, bool bidirectional, bool batch_first) {
  if (states.size() != 2 || input.dim() != 3 ||
      !is_served(joined(input, states, params), params.size(), layers, has_biases, bidirectional))
    return at::native::lstm(input, states, params, has_biases, layers, dropout, train, bidirectional, batch_first);
  const auto steps = batch_first ? input.transpose(0, 1) : input;
  auto found =
      run_layers(true, steps, {}, states.vec(), params, has_biases, layers, dropout, train, bidirectional);
  return {batch_first ? found[0].transpose(0, 1) : found[0], found[1], found[2]};
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor> packed_lstm(
    const at::Tensor& rows, const at::Tensor& batch_sizes, at::TensorList states, at::TensorList params, bool has_biases,
    int64_t layers, double dropout, bool train, bool bidirectional) {
  if (states.size() != 2 || !batch_sizes.device().is_cpu() ||
      !is_served(joined(rows, states, params), params.size(), layers, has_biases, bidirectional))
    return at::native::lstm(rows, batch_sizes, states, params, has_biases, layers, dropout, train, bidirectional);
  auto found =
      run_layers(true, rows, batch_sizes, states.vec(), params, has_biases, layers, dropout, train, bidirectional);
  return {found[0], found[1], found[2]};
}

inline std::tuple<at::Tensor, at::Tensor> gru(
    const at::Tensor& input, const at::Tensor& state, at::TensorList params, bool has_biases, int64_t layers,
    double dropout, bool train, bool bidirectional, bool batch_first) {
  if (input.dim() != 3 || !is_served(joined(input, state, params), params.size(), layers, has_biases, bidirectional))
    return at::native::gru(input, state, params, has_biases, layers, dropout, train, bidirectional, batch_first);
  const auto steps = batch_first ? input.transpose(0, 1) : input;
  auto found = run_layers(false, steps, {}, {state}, params, has_biases, layers, dropout, train, bidirectional);
  return {batch_first ? found[0].transpose(0, 1) : found[0], found[1]};
}

inline void serve_recurrent_layers(torch::Library& m) {
  m.impl("lstm.input", TORCH_FN(lstm));
  m.impl("lstm.data", TORCH_FN(packed_lstm));
  m.impl("gru.input", TORCH_FN(gru));
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) { serve_recurrent_layers(m); }

}  // namespace npu
