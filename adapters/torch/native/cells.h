// Recurrent cells: PyTorch takes fused ones on a device, which the CPU has no kernels of. Composed of other operators.
#pragma once

#include <ATen/ops/cat.h>
#include <ATen/ops/lstm_cell_native.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/core/TensorBody.h>

namespace npu {

// The device computes a cell in the type of its input; weights that are kept in another one are converted.
inline std::tuple<at::Tensor, at::Tensor> lstm_cell_of_input(
    const at::Tensor& input, at::TensorList states, const at::Tensor& input_weight, const at::Tensor& hidden_weight,
    const std::optional<at::Tensor>& input_bias, const std::optional<at::Tensor>& hidden_bias) {
  const auto type = input.scalar_type();
  const auto bias = [&](const std::optional<at::Tensor>& given) {
    return given && given->defined() ? std::optional<at::Tensor>(given->to(type)) : given;
  };
  std::vector<at::Tensor> converted;
  for (const auto& state : states) converted.push_back(state.to(type));
  return at::native::lstm_cell(
      input, converted, input_weight.to(type), hidden_weight.to(type), bias(input_bias), bias(hidden_bias));
}

// The workspace keeps the four gates.
inline std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(
    const at::Tensor& input, const at::Tensor& hidden, const at::Tensor& cell, const std::optional<at::Tensor>& input_bias,
    const std::optional<at::Tensor>& hidden_bias) {
  const bool biased = input_bias && input_bias->defined();
  auto sum = biased ? (hidden + *hidden_bias).add_(input + *input_bias) : hidden + input;
  auto gates = sum.unsafe_chunk(4, 1);
  auto in = gates[0].sigmoid(), forget = gates[1].sigmoid(), candidate = gates[2].tanh(), out = gates[3].sigmoid();
  auto next = forget * cell + in * candidate;
  return {out * next.tanh(), next, at::cat({in, forget, candidate, out}, 1)};
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(
    const std::optional<at::Tensor>& hidden_gradient, const std::optional<at::Tensor>& cell_gradient,
    const at::Tensor& cell, const at::Tensor& next, const at::Tensor& workspace, bool has_bias) {
  const bool any_hidden = hidden_gradient && hidden_gradient->defined();
  const bool any_cell = cell_gradient && cell_gradient->defined();
  if (!any_hidden && !any_cell) return {};
  auto gates = workspace.unsafe_chunk(4, 1);
  const auto &in = gates[0], &forget = gates[1], &candidate = gates[2], &out = gates[3];
  auto squashed = next.tanh();
  auto of_hidden = any_hidden ? *hidden_gradient : at::zeros_like(next);
  auto of_next = of_hidden * out * (1 - squashed * squashed);
  if (any_cell) of_next = of_next + *cell_gradient;
  auto of_gates = at::cat(
      {of_next * candidate * in * (1 - in), of_next * cell * forget * (1 - forget),
       of_next * in * (1 - candidate * candidate), of_hidden * squashed * out * (1 - out)},
      1);
  return {of_gates, of_next * forget, has_bias ? of_gates.sum(0) : at::Tensor()};
}

// The workspace keeps the gates, the hidden state and the hidden part of the new state.
inline std::tuple<at::Tensor, at::Tensor> gru_cell(
    const at::Tensor& input, const at::Tensor& hidden, const at::Tensor& state,
    const std::optional<at::Tensor>& input_bias, const std::optional<at::Tensor>& hidden_bias) {
  const bool biased = input_bias && input_bias->defined();
  auto of_input = (biased ? input + *input_bias : input).unsafe_chunk(3, 1);
  auto of_hidden = (biased ? hidden + *hidden_bias : hidden).unsafe_chunk(3, 1);
  auto reset = (of_hidden[0] + of_input[0]).sigmoid(), keep = (of_hidden[1] + of_input[1]).sigmoid();
  auto fresh = (of_input[2] + of_hidden[2] * reset).tanh();
  return {(state - fresh) * keep + fresh, at::cat({reset, keep, fresh, state, of_hidden[2]}, 1)};
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> gru_cell_backward(
    const at::Tensor& gradient, const at::Tensor& workspace, bool has_bias) {
  auto kept = workspace.unsafe_chunk(5, 1);
  const auto &reset = kept[0], &keep = kept[1], &fresh = kept[2], &state = kept[3], &hidden = kept[4];
  auto of_fresh = gradient * (1 - keep) * (1 - fresh * fresh);
  auto of_keep = gradient * (state - fresh) * keep * (1 - keep);
  auto of_reset = of_fresh * hidden * reset * (1 - reset);
  auto of_input = at::cat({of_reset, of_keep, of_fresh}, 1);
  auto of_hidden = at::cat({of_reset, of_keep, of_fresh * reset}, 1);
  return {of_input, of_hidden, gradient * keep, has_bias ? of_input.sum(0) : at::Tensor(),
          has_bias ? of_hidden.sum(0) : at::Tensor()};
}

}  // namespace npu
