// Blocks of the modelled memory and what is counted of them. The rules and their numbers come from
// NPUCachingAllocator.cpp (Ascend/pytorch).
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "history.h"
#include "settings.h"

namespace npu {

constexpr int64_t MIN_BLOCK = 512;           // kMinBlockSize
constexpr int64_t PADDING = 32;              // AddPadSize()
constexpr int64_t SMALL_REQUEST = 1 << 20;   // kSmallSize
constexpr int64_t SMALL_SEGMENT = 2 << 20;   // kSmallBuffer
constexpr int64_t MIN_LARGE = 10 << 20;      // kMinLargeAlloc
constexpr int64_t ROUND_LARGE = 2 << 20;     // kRoundLarge
// Addresses of the modelled memory; they only have to be distinct and aligned.
constexpr int64_t FIRST_ADDRESS = 0x12c0'0000'0000;

// What was freed is not counted: it is what was allocated and is not there any more.
struct Stat {
  int64_t current = 0, peak = 0, allocated = 0, current_at_reset = 0;
  void add(int64_t amount) {
    current += amount;
    if (amount <= 0) return;
    allocated += amount;
    peak = std::max(peak, current);
  }
  int64_t freed() const { return current_at_reset + allocated - current; }
  void reset_accumulated() {
    allocated = 0;
    current_at_reset = current;
  }
};

// In the order of the rows that Python reads: see STATISTICS in drynpu_torch/device/_memory_statistics.py.
enum Statistic {
  ALLOCATION, SEGMENT, ACTIVE, INACTIVE_SPLIT, ALLOCATED_BYTES, RESERVED_BYTES, ACTIVE_BYTES, INACTIVE_SPLIT_BYTES,
  REQUESTED_BYTES, OVERSIZE_ALLOCATIONS, OVERSIZE_SEGMENTS, STATISTICS
};
enum Pool { ALL, SMALL, LARGE, POOLS };

// In the order of _STATES in drynpu_torch/device/_memory_statistics.py. A block that other streams used is active until
// the next allocation finds their work done.
enum class State : int64_t { FREE, USED, AWAITING };

struct Block;

struct BySize {
  bool operator()(const Block* a, const Block* b) const;
};

using Place = std::set<Block*, BySize>::iterator;

struct Block {
  int64_t address, size, requested = 0;
  c10::StreamId stream;
  bool small;
  // Of a segment that grows; without *mapped* it has addresses alone.
  bool expandable = false, mapped = true;
  // Whether another stream uses it, too.
  bool used_elsewhere = false;
  State state = State::FREE;
  Block *previous = nullptr, *next = nullptr;
  Place place{};  // in its pool, where it is free
  // Searches of its pool since it was last used; counted where unused blocks are collected.
  int64_t age = 0;
  // Who asked for it, and, of a segment's first block, for the segment; where stacks are read.
  Trace stack{}, segment_stack{};

  bool split() const { return previous || next; }
  // Bytes up to which it can grow in its segment.
  int64_t room() const { return size + (next && !next->mapped ? next->size : 0); }
};

inline bool BySize::operator()(const Block* a, const Block* b) const {
  if (a->stream != b->stream) return a->stream < b->stream;
  return a->size != b->size ? a->size < b->size : a->address < b->address;
}

struct ByAddress {
  bool operator()(const Block* a, const Block* b) const {
    return a->stream != b->stream ? a->stream < b->stream : a->address < b->address;
  }
};

}  // namespace npu
