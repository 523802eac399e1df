// The caching allocator of torch_npu as a model: blocks, segments and statistics, without any memory behind them.
//
// The rules come from NPUCachingAllocator.cpp (Ascend/pytorch): requests are padded and rounded, small ones have
// segments of their own, the smallest free block that fits is taken and split, free neighbours are merged. With
// expandable_segments each stream has one segment for each pool, of more addresses than the device has memory, which
// grows where it ends.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "forked.h"
#include "segments.h"

namespace npu {

// A block as Python reads it: segment, address, size, requested, state, small, stream, expandable.
struct BlockRow {
  std::array<int64_t, 8> values;
  Trace stack, segment_stack;
};

class DeviceMemory : public Segments {
 public:
  Block* allocate(int64_t bytes, c10::StreamId stream, int device) {
    use_device();
    const Call call(*this, Context::STATE);
    settings().read_environment();
    free_awaiting();
    const int64_t size = rounded(bytes);
    const bool small = size <= SMALL_REQUEST;
    const Limits limits;
    Found found = take(size, stream, small, limits);
    if (!found.block) found.block = reserve(size, stream, small, device);
    if (C10_UNLIKELY(limits.expandable)) align(found, size);
    split(found, size, limits);
    Block* block = found.block;
    block->state = State::USED;
    block->requested = bytes;
    if (C10_UNLIKELY(stack_ != nullptr)) block->stack = stack_;
    history_.note(Action::ALLOC, block->address, bytes, stream, stack_);
    count(ALLOCATION, small, 1);
    count(ALLOCATED_BYTES, small, block->size);
    count(ACTIVE, small, 1);
    count(ACTIVE_BYTES, small, block->size);
    count(REQUESTED_BYTES, small, bytes);
    if (limits.oversize(block->size)) count_whole(OVERSIZE_ALLOCATIONS, 1);
    return block;
  }

  void release(Block* block) {
    const Call call(*this, Context::ALL);
    history_.note(
        Action::FREE_REQUESTED, block->address, block->requested, block->stream, stack_ ? stack_ : block->stack);
    count(ALLOCATION, block->small, -1);
    count(ALLOCATED_BYTES, block->small, -block->size);
    if (is_oversize(block->size)) count_whole(OVERSIZE_ALLOCATIONS, -1);
    if (!block->used_elsewhere) return free(block);
    block->state = State::AWAITING;
    awaiting_.push_back(block);
  }

  // Notes that another stream uses a block: when it is released it is free only with the next allocation.
  void use_elsewhere(Block* block) {
    std::lock_guard<std::mutex> lock(mutex_);
    block->used_elsewhere = true;
  }

  // Gives the segments back of which nothing is used.
  void empty_cache() {
    const Call call(*this, Context::ALL);
    drop_free_segments();
  }

  // Forgets the events, of which the settings may have changed.
  void forget_history() {
    std::lock_guard<std::mutex> lock(mutex_);
    history_.clear();
  }

  // Returns the events in order, and rows as of snapshot() with the stack of each block and of its segment.
  std::pair<std::vector<Event>, std::vector<BlockRow>> events_and_blocks() {
    std::lock_guard<std::mutex> lock(mutex_);
    auto events = history_.in_order();
    auto rows = block_rows();
    history_.note(Action::SNAPSHOT, 0, stats_[ACTIVE_BYTES][ALL].current, 0);
    return {std::move(events), std::move(rows)};
  }

  void reset_peaks() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& row : stats_)
      for (auto& stat : row) stat.peak = stat.current;
  }

  void reset_accumulated() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& row : stats_)
      for (auto& stat : row) stat.reset_accumulated();
    retries_ = ooms_ = 0;
  }

  // Fills rows of current, peak, allocated, freed per statistic and pool, then the retries and the failures.
  void read(int64_t* out) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& row : stats_)
      for (auto& stat : row)
        for (int64_t value : {stat.current, stat.peak, stat.allocated, stat.freed()}) *out++ = value;
    *out++ = retries_;
    *out++ = ooms_;
  }

  // Writes the rows of the blocks, as many as there is room for; returns how many there are.
  int64_t snapshot(int64_t* out, int64_t rows) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = block_rows();
    for (size_t row = 0; row < std::min(found.size(), static_cast<size_t>(rows)); ++row)
      out = std::copy(found[row].values.begin(), found[row].values.end(), out);
    return static_cast<int64_t>(found.size());
  }

 private:
  // A call that changes blocks: it holds the lock, and its stack is read before that.
  struct Call {
    Call(DeviceMemory& memory, Context context) : memory(memory), stack(read_stack(context)), lock(memory.mutex_) {
      if (C10_UNLIKELY(stack != nullptr)) memory.stack_ = stack;
    }
    ~Call() {
      if (C10_UNLIKELY(stack != nullptr)) memory.stack_ = nullptr;
    }
    DeviceMemory& memory;
    Trace stack;
    std::lock_guard<std::mutex> lock;
  };

  // One row per block in the order of addresses.
  std::vector<BlockRow> block_rows() const {
    std::vector<BlockRow> rows;
    int64_t segment = 0;
    for (const auto& [address, first] : segments_) {
      for (Block* block = first; block; block = block->next)
        if (block->mapped)
          rows.push_back({{segment, block->address, block->size, block->requested, static_cast<int64_t>(block->state),
                           block->small, block->stream, block->expandable},
                          block->stack, first->segment_stack});
      ++segment;
    }
    return rows;
  }

  static int64_t rounded(int64_t bytes) {
    bytes += PADDING;
    if (bytes < MIN_BLOCK) return MIN_BLOCK;
    const auto divisions = static_cast<int64_t>(settings().divisions(static_cast<size_t>(bytes)));
    if (divisions <= 1 || bytes <= MIN_BLOCK * divisions) return rounded_up(bytes, MIN_BLOCK);
    if (!(bytes & (bytes - 1))) return bytes;
    int64_t power = MIN_BLOCK;
    while (power * 2 <= bytes) power *= 2;
    int64_t parts = 1;
    while (parts * 2 <= divisions) parts *= 2;
    return power < parts ? power * 2 : rounded_up(bytes, power / parts);
  }

  static int64_t segment_bytes(int64_t size) {
    if (size <= SMALL_REQUEST) return SMALL_SEGMENT;
    if (settings().whole_gigabytes) return rounded_up(size, int64_t{1} << 30);
    if (size < MIN_LARGE) return settings().large_segment_size;
    return rounded_up(size, ROUND_LARGE);
  }

  // The settings that most allocations ask for, read once for each.
  struct Limits {
    bool expandable = Segments::expandable();
    size_t max_split = settings().max_split_size;
    bool oversize(int64_t size) const { return static_cast<size_t>(size) >= max_split; }
  };

  // A free block that serves a request, and whether it is still in its pool.
  struct Found {
    Block* block;
    bool in_pool = false;
  };

  Found take(int64_t size, c10::StreamId stream, bool small, const Limits& limits) {
    auto& blocks = free_blocks(small);
    if (collects())
      for (Block* each : blocks) ++each->age;
    auto found = blocks.smallest(stream, size);
    if (found == blocks.end() || (*found)->stream != stream) return {nullptr};
    // A block that can grow counts as what it can grow to.
    for (auto next = std::next(found); (*found)->expandable && next != blocks.end() && (*next)->stream == stream &&
                                       (*next)->room() < (*found)->room();)
      found = next++;
    Block* block = *found;
    if (limits.oversize(block->size)) {
      if (!limits.oversize(size)) return {nullptr};
      if (block->size >= size + settings().max_non_split_rounding_size) return {nullptr};
    }
    block->age = 0;
    return {block, true};
  }

  Block* reserve(int64_t size, c10::StreamId stream, bool small, int device) {
    if (collects()) collect_unused();
    const auto bytes = segment_bytes(size);
    Block* block = grow(size, bytes, stream, small);
    if (!block && drop_oversize(size, stream, small)) block = grow(size, bytes, stream, small);
    if (!block) {
      ++retries_;
      drop_free_segments();
      block = grow(size, bytes, stream, small);
    }
    if (block) return block;
    ++ooms_;
    history_.note(Action::OOM, std::max<int64_t>(total - reserved(), 0), bytes, stream, stack_);
    fail(bytes, device);
    full_ = true;
    block = grow(size, bytes, stream, small);
    full_ = false;
    return block;
  }

  // Returns a new segment, or the free end of one that has grown to *size*; nothing where there is no memory for it.
  Block* grow(int64_t size, int64_t bytes, c10::StreamId stream, bool small) {
    if (expandable()) return fits(most() < total ? bytes : 0) ? expand(size, stream, small) : nullptr;
    if (!fits(bytes)) return nullptr;
    auto* block = make_block(next_address_, bytes, stream, small);
    next_address_ += bytes;
    segments_[block->address] = block;
    block->segment_stack = stack_;
    history_.note(Action::SEGMENT_ALLOC, block->address, bytes, stream, stack_);
    count(SEGMENT, small, 1);
    count(RESERVED_BYTES, small, bytes);
    if (is_oversize(bytes)) count_whole(OVERSIZE_SEGMENTS, 1);
    return block;
  }

  // With expandable segments large blocks begin at a multiple of base_addr_aligned_kb, if they still fit then.
  void align(Found& found, int64_t size) {
    Block* block = found.block;
    const int64_t alignment = settings().alignment;
    if (size < ROUND_LARGE || !alignment || block->address % alignment == 0) return;
    const int64_t before = alignment - block->address % alignment;
    if (before + size > block->size) return;
    Block* rest = cut(block, before);
    if (found.in_pool) free_blocks(block->small).replace(block->place, block);
    else free_blocks(block->small).insert(block);
    found = {rest};
  }

  void split(const Found& found, int64_t size, const Limits& limits) {
    Block* block = found.block;
    const bool was_split = block->split(), small = block->small;
    const int64_t remaining = block->size - size;
    const bool cuts =
        small || limits.expandable ? remaining >= MIN_BLOCK : !limits.oversize(size) && remaining > SMALL_REQUEST;
    if (cuts) {
      Block* rest = cut(block, size);
      if (found.in_pool) free_blocks(small).replace(block->place, rest);
      else free_blocks(small).insert(rest);
    } else if (found.in_pool) {
      free_blocks(small).erase(block->place);
    }
    if (block->expandable) return;  // their pages can always be given back, so the vendor does not count them
    if (cuts) {
      count(INACTIVE_SPLIT_BYTES, small, was_split ? -size : remaining);
      if (!was_split) count(INACTIVE_SPLIT, small, 1);
    } else if (was_split) {
      count(INACTIVE_SPLIT_BYTES, small, -block->size);
      count(INACTIVE_SPLIT, small, -1);
    }
  }

  // Work runs during the call, so other streams are through with a block when it is asked for again.
  void free_awaiting() {
    for (Block* block : awaiting_) {
      block->used_elsewhere = false;
      free(block);
    }
    awaiting_.clear();
  }

  void drop_free_segments() {
    free_awaiting();
    for (bool small : {true, false}) {
      const std::vector<Block*> blocks(free_blocks(small).begin(), free_blocks(small).end());
      for (Block* block : blocks)
        if (block->expandable) unmap(block);
        else if (!block->split()) drop(block);
    }
  }

  // Drops the smallest oversize block that is large enough, or as many of the largest as are.
  bool drop_oversize(int64_t size, c10::StreamId stream, bool small) {
    const size_t limit = settings().max_split_size;
    if (limit == std::numeric_limits<size_t>::max()) return false;
    auto& blocks = free_blocks(small);
    const int64_t wanted = std::max<int64_t>(size, static_cast<int64_t>(limit));
    const auto found = blocks.smallest(stream, wanted);
    if (found != blocks.end() && (*found)->stream == stream) return drop(*found), true;
    int64_t dropped = 0;
    for (auto it = found; dropped < wanted && it != blocks.begin();) {
      Block* block = *--it;
      if (!is_oversize(block->size) || block->stream != stream) break;
      dropped += block->size;
      it = std::next(it);
      drop(block);
    }
    return dropped >= wanted;
  }

  // Above the threshold, drops the large segments without a use that are older than their average, until enough is free.
  void collect_unused() {
    const auto threshold =
        static_cast<int64_t>(settings().garbage_collection_threshold * static_cast<double>(most()));
    const int64_t wanted = reserved() - threshold;
    std::vector<Block*> blocks;
    for (Block* each : free_large_)
      if (!each->split() && !each->expandable) blocks.push_back(each);
    for (int64_t dropped = 0; wanted > 0 && dropped < wanted && !blocks.empty();) {
      double age = 0;
      for (const Block* each : blocks) age += static_cast<double>(each->age);
      age /= static_cast<double>(blocks.size());
      std::vector<Block*> kept;
      for (Block* each : blocks) {
        if (static_cast<double>(each->age) < age) {
          kept.push_back(each);
          continue;
        }
        dropped += each->size;
        drop(each);
      }
      blocks.swap(kept);
    }
  }

  static std::string bytes_text(double bytes) {
    char text[64];
    if (bytes <= 1024) std::snprintf(text, sizeof text, "%.0f bytes", bytes);
    else if (bytes <= 1048576) std::snprintf(text, sizeof text, "%.2f KiB", bytes / 1024);
    else if (bytes <= 1073741824) std::snprintf(text, sizeof text, "%.2f MiB", bytes / 1048576);
    else std::snprintf(text, sizeof text, "%.2f GiB", bytes / 1073741824);
    return text;
  }

  void fail(int64_t bytes, int device) {
    constexpr int64_t EXBI = int64_t{1} << 60;
    TORCH_CHECK_WITH(OutOfMemoryError, bytes < EXBI, "NPU out of memory. Tried to allocate more than 1EB memory.");
    std::string allowed_text = most() < total ? bytes_text(double(most())) + " allowed; " : "";
    std::string text = c10::str(
        "NPU out of memory. Tried to allocate ", bytes_text(double(bytes)), " (NPU ", device, "; ",
        bytes_text(double(total)), " total capacity; ",
        bytes_text(double(stats_[ALLOCATED_BYTES][ALL].current)), " already allocated; ",
        bytes_text(double(stats_[ACTIVE_BYTES][ALL].current)), " current active; ",
        bytes_text(double(std::max<int64_t>(total - reserved(), 0))), " free; ", allowed_text,
        bytes_text(double(reserved())),
        " reserved in total by PyTorch).If reserved memory is >> allocated memory try setting max_split_size_mb to "
        "avoid fragmentation.");
    TORCH_CHECK_WITH(OutOfMemoryError, only_warn, text);
    if (ooms_ == 1) TORCH_WARN(text, " DRYNPU_OOM=warn goes on.");
  }

  std::mutex mutex_;
  std::vector<Block*> awaiting_;
  int64_t retries_ = 0, ooms_ = 0;
};

// Never destroyed, because tensors of other static objects may outlive this library's.
inline DeviceMemory& memory_of(int device) {
  static auto* memories = new std::array<DeviceMemory, MOST_DEVICES>();
  return (*memories)[device];
}

}  // namespace npu
