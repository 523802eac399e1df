// The recorded history of the allocators as PyTorch's operators return it: rows of numbers, and the stacks in words.
#pragma once

#include <algorithm>
#include <unordered_map>

#include <ATen/ops/from_blob.h>
#include <torch/library.h>

#include "memory.h"

namespace npu {

// Begins, or ends, to record; *context* is a Context, and *most* events of each device are kept.
inline void record_memory_history(bool wanted, int64_t context, bool native_stacks, int64_t most) {
  history_wanted = false;
  stacks_wanted = wanted ? static_cast<Context>(context) : Context::NEVER;
  native_stacks_wanted = native_stacks;
  most_events = static_cast<size_t>(std::max<int64_t>(most, 1));
  for (int i = 0; i < device_count; ++i) memory_of(i).forget_history();
  history_wanted = wanted;
}

// Numbers the stacks that rows name, in the order in which they are met.
class Stacks {
 public:
  // Returns a stack's number, -1 for none.
  int64_t number(const Trace& stack) {
    if (!stack) return -1;
    const auto [found, fresh] = numbers_.emplace(stack.get(), static_cast<int64_t>(stacks_.size()));
    if (fresh) stacks_.push_back(stack);
    return found->second;
  }

  torch::SymbolizedTracebacks in_words() const {
    std::vector<torch::CapturedTraceback*> pointers;
    for (const auto& each : stacks_) pointers.push_back(each.get());
    return torch::symbolize(pointers);
  }

 private:
  std::unordered_map<const torch::CapturedTraceback*, int64_t> numbers_;
  std::vector<Trace> stacks_;
};

inline at::Tensor table_of(std::vector<int64_t>& numbers, int64_t columns) {
  return at::from_blob(numbers.data(), {static_cast<int64_t>(numbers.size()) / columns, columns}, at::kLong).clone();
}

// Returns the events of a device: action, address, size, stream, stack; its blocks as of snapshot(), with their stack and
// their segment's; files, names and lines of all frames; and the frames of each stack, innermost first.
inline std::tuple<
    at::Tensor, at::Tensor, std::vector<std::string>, std::vector<std::string>, std::vector<int64_t>,
    std::vector<std::vector<int64_t>>>
memory_history(int64_t device) {
  const auto [events, blocks] = memory_of(static_cast<int>(device)).events_and_blocks();
  Stacks stacks;
  std::vector<int64_t> event_rows, block_rows, lines;
  for (const auto& each : events)
    for (int64_t value :
         {static_cast<int64_t>(each.action), each.address, each.size, each.stream, stacks.number(each.stack)})
      event_rows.push_back(value);
  for (const auto& each : blocks) {
    block_rows.insert(block_rows.end(), each.values.begin(), each.values.end());
    block_rows.push_back(stacks.number(each.stack));
    block_rows.push_back(stacks.number(each.segment_stack));
  }
  const auto words = stacks.in_words();
  std::vector<std::string> files, names;
  for (const auto& frame : words.all_frames) {
    files.push_back(frame.filename);
    names.push_back(frame.funcname);
    lines.push_back(static_cast<int64_t>(frame.lineno));
  }
  std::vector<std::vector<int64_t>> frames;
  for (const auto& each : words.tracebacks) frames.emplace_back(each.begin(), each.end());
  return {table_of(event_rows, 5), table_of(block_rows, 10), files, names, lines, frames};
}

}  // namespace npu
