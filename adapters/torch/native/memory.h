// The caching allocator of torch_npu as a model: blocks, segments and statistics, without any memory behind them.
//
// The rules are those of NPUCachingAllocator.cpp (Ascend/pytorch): requests are padded and rounded, small ones have
// segments of their own, the smallest free block that fits is taken and split, free neighbours are merged.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <c10/util/Exception.h>

#include "device.h"

namespace npu {

constexpr int64_t MIN_BLOCK = 512;           // kMinBlockSize
constexpr int64_t PADDING = 32;              // AddPadSize()
constexpr int64_t SMALL_REQUEST = 1 << 20;   // kSmallSize
constexpr int64_t SMALL_SEGMENT = 2 << 20;   // kSmallBuffer
constexpr int64_t LARGE_SEGMENT = 20 << 20;  // kLargeBuffer
constexpr int64_t MIN_LARGE = 10 << 20;      // kMinLargeAlloc
constexpr int64_t ROUND_LARGE = 2 << 20;     // kRoundLarge
// Addresses of the modelled memory; they only have to be distinct and aligned.
constexpr int64_t FIRST_ADDRESS = 0x12c0'0000'0000;

struct Stat {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void add(int64_t amount) {
    current += amount;
    if (amount > 0) {
      allocated += amount;
      peak = std::max(peak, current);
    } else {
      freed -= amount;
    }
  }
};

// In the order of the rows that Python reads: see STATISTICS in drynpu_torch/device/_memory_statistics.py.
enum Statistic {
  ALLOCATION, SEGMENT, ACTIVE, INACTIVE_SPLIT, ALLOCATED_BYTES, RESERVED_BYTES, ACTIVE_BYTES, INACTIVE_SPLIT_BYTES,
  REQUESTED_BYTES, STATISTICS
};
enum Pool { ALL, SMALL, LARGE, POOLS };

struct Block {
  int64_t address, size, requested = 0;
  c10::StreamId stream;
  bool small, used = false;
  Block *previous = nullptr, *next = nullptr;
  bool split() const { return previous || next; }
};

struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    if (a->stream != b->stream) return a->stream < b->stream;
    return a->size != b->size ? a->size < b->size : a->address < b->address;
  }
};

class DeviceMemory {
 public:
  Block* allocate(int64_t bytes, c10::StreamId stream, int device) {
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t size = rounded(bytes);
    const bool small = size <= SMALL_REQUEST;
    Block* block = take(size, stream, small);
    if (!block) block = reserve(size, stream, small, bytes, device);
    split(block, size, small);
    block->used = true;
    block->requested = bytes;
    count(ALLOCATION, small, 1);
    count(ALLOCATED_BYTES, small, block->size);
    count(ACTIVE, small, 1);
    count(ACTIVE_BYTES, small, block->size);
    count(REQUESTED_BYTES, small, bytes);
    return block;
  }

  void release(Block* block) {
    std::lock_guard<std::mutex> lock(mutex_);
    const bool small = block->small;
    count(ALLOCATION, small, -1);
    count(ALLOCATED_BYTES, small, -block->size);
    count(ACTIVE, small, -1);
    count(ACTIVE_BYTES, small, -block->size);
    count(REQUESTED_BYTES, small, -block->requested);
    block->used = false;
    merge(block);
  }

  // Gives the segments back of which nothing is used.
  void empty_cache() {
    std::lock_guard<std::mutex> lock(mutex_);
    drop_free_segments();
  }

  void reset_peaks() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& row : stats_)
      for (auto& stat : row) stat.peak = stat.current;
  }

  void reset_accumulated() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& row : stats_)
      for (auto& stat : row) stat.allocated = stat.freed = 0;
    retries_ = ooms_ = 0;
  }

  // Fills rows of current, peak, allocated, freed per statistic and pool, then the retries and the failures.
  void read(int64_t* out) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& row : stats_)
      for (auto& stat : row)
        for (int64_t value : {stat.current, stat.peak, stat.allocated, stat.freed}) *out++ = value;
    *out++ = retries_;
    *out++ = ooms_;
  }

  // Writes one row per block in the order of addresses: segment, address, size, requested, used, small, stream.
  int64_t snapshot(int64_t* out, int64_t rows) {
    std::lock_guard<std::mutex> lock(mutex_);
    int64_t row = 0, segment = 0;
    for (Block* first : segments_) {
      for (Block* block = first; block; block = block->next, ++row) {
        if (row >= rows) continue;
        const int64_t values[] = {segment, block->address, block->size, block->requested, block->used, block->small,
                                  block->stream};
        std::copy(std::begin(values), std::end(values), out + row * 7);
      }
      ++segment;
    }
    return row;
  }

  int64_t total = std::numeric_limits<int64_t>::max();
  int64_t allowed = std::numeric_limits<int64_t>::max();
  bool only_warn = false;

 private:
  static int64_t rounded(int64_t bytes) {
    bytes += PADDING;
    return bytes < MIN_BLOCK ? MIN_BLOCK : (bytes + MIN_BLOCK - 1) / MIN_BLOCK * MIN_BLOCK;
  }

  static int64_t segment_bytes(int64_t size) {
    if (size <= SMALL_REQUEST) return SMALL_SEGMENT;
    if (size < MIN_LARGE) return LARGE_SEGMENT;
    return (size + ROUND_LARGE - 1) / ROUND_LARGE * ROUND_LARGE;
  }

  void count(Statistic statistic, bool small, int64_t amount) {
    stats_[statistic][ALL].add(amount);
    stats_[statistic][small ? SMALL : LARGE].add(amount);
  }

  std::set<Block*, BySize>& free_blocks(bool small) { return small ? free_small_ : free_large_; }

  Block* take(int64_t size, c10::StreamId stream, bool small) {
    Block key{0, size, 0, stream, small};
    auto& blocks = free_blocks(small);
    auto found = blocks.lower_bound(&key);
    if (found == blocks.end() || (*found)->stream != stream) return nullptr;
    Block* block = *found;
    blocks.erase(found);
    return block;
  }

  Block* reserve(int64_t size, c10::StreamId stream, bool small, int64_t requested, int device) {
    const int64_t bytes = segment_bytes(size);
    const int64_t most = std::min(total, allowed);
    if (reserved() + bytes > most) {
      ++retries_;
      drop_free_segments();
      if (reserved() + bytes > most) {
        ++ooms_;
        fail(bytes, requested, device);
      }
    }
    auto* block = new Block{next_address_, bytes, 0, stream, small};
    next_address_ += bytes;
    segments_.insert(block);
    count(SEGMENT, small, 1);
    count(RESERVED_BYTES, small, bytes);
    return block;
  }

  void split(Block*& block, int64_t size, bool small) {
    const bool was_split = block->split();
    const int64_t remaining = block->size - size;
    if (small ? remaining >= MIN_BLOCK : remaining > SMALL_REQUEST) {
      auto* rest = new Block{block->address + size, remaining, 0, block->stream, small, false, block, block->next};
      if (rest->next) rest->next->previous = rest;
      block->next = rest;
      block->size = size;
      free_blocks(small).insert(rest);
      if (was_split) {
        count(INACTIVE_SPLIT_BYTES, small, -size);
      } else {
        count(INACTIVE_SPLIT_BYTES, small, remaining);
        count(INACTIVE_SPLIT, small, 1);
      }
    } else if (was_split) {
      count(INACTIVE_SPLIT_BYTES, small, -block->size);
      count(INACTIVE_SPLIT, small, -1);
    }
  }

  void merge(Block* block) {
    const bool small = block->small;
    const int64_t size = block->size;
    int64_t inactive = 0, bytes = 0;
    for (Block* other : {block->previous, block->next}) {
      if (!other || other->used) continue;
      free_blocks(small).erase(other);
      --inactive;
      bytes -= other->size;
      if (other == block->previous) {  // the earlier one stays, because a segment is known by its first block
        other->size += block->size;
        other->next = block->next;
        if (other->next) other->next->previous = other;
        delete block;
        block = other;
      } else {
        block->size += other->size;
        block->next = other->next;
        if (block->next) block->next->previous = block;
        delete other;
      }
    }
    free_blocks(small).insert(block);
    if (block->split()) {
      ++inactive;
      bytes += block->size;
    }
    (void)size;
    if (inactive) count(INACTIVE_SPLIT, small, inactive);
    if (bytes) count(INACTIVE_SPLIT_BYTES, small, bytes);
  }

  void drop_free_segments() {
    for (bool small : {true, false}) {
      auto& blocks = free_blocks(small);
      for (auto it = blocks.begin(); it != blocks.end();) {
        Block* block = *it;
        if (block->split()) {
          ++it;
          continue;
        }
        it = blocks.erase(it);
        segments_.erase(block);
        count(SEGMENT, small, -1);
        count(RESERVED_BYTES, small, -block->size);
        delete block;
      }
    }
  }

  int64_t reserved() const { return stats_[RESERVED_BYTES][ALL].current; }

  static std::string bytes_text(double bytes) {
    char text[64];
    if (bytes <= 1024) std::snprintf(text, sizeof text, "%.0f bytes", bytes);
    else if (bytes <= 1048576) std::snprintf(text, sizeof text, "%.2f KiB", bytes / 1024);
    else if (bytes <= 1073741824) std::snprintf(text, sizeof text, "%.2f MiB", bytes / 1048576);
    else std::snprintf(text, sizeof text, "%.2f GiB", bytes / 1073741824);
    return text;
  }

  void fail(int64_t bytes, int64_t requested, int device) {
    (void)requested;
    std::string allowed_text = allowed < total ? bytes_text(double(allowed)) + " allowed; " : "";
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
  std::array<std::array<Stat, POOLS>, STATISTICS> stats_{};
  std::set<Block*, BySize> free_small_, free_large_;
  struct ByAddress {
    bool operator()(const Block* a, const Block* b) const { return a->address < b->address; }
  };
  std::set<Block*, ByAddress> segments_;  // by their first blocks, whose addresses never change
  int64_t next_address_ = FIRST_ADDRESS, retries_ = 0, ooms_ = 0;
};

// Never destroyed, because tensors of other static objects may outlive this library's.
inline DeviceMemory& memory_of(int device) {
  static auto* memories = new std::array<DeviceMemory, MOST_DEVICES>();
  return (*memories)[device];
}

}  // namespace npu
