// Segments of the modelled memory and their blocks: how blocks are cut, joined, mapped and counted.
#pragma once

#include <array>
#include <limits>
#include <map>

#include "pool.h"

namespace npu {

class Segments {
 public:
  int64_t total = std::numeric_limits<int64_t>::max();
  // What the script allows itself (set_per_process_memory_fraction).
  std::atomic<int64_t> allowed{std::numeric_limits<int64_t>::max()};
  bool only_warn = false;

 protected:
  static int64_t rounded_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

  static bool expandable() { return settings().expandable_segments; }
  static bool is_oversize(int64_t size) { return static_cast<size_t>(size) >= settings().max_split_size; }

  // Bytes that may be reserved.
  int64_t most() const {
    const double share = settings().fraction;
    const auto by_setting = share < 1.0 ? static_cast<int64_t>(share * static_cast<double>(total)) : total;
    return allowed < total ? std::min<int64_t>(allowed, total) : by_setting;
  }

  bool collects() const { return most() < total && settings().garbage_collection_threshold > 0; }

  bool fits(int64_t bytes) const { return full_ || reserved() + bytes <= most(); }

  void count(Statistic statistic, bool small, int64_t amount) {
    stats_[statistic][ALL].add(amount);
    stats_[statistic][small ? SMALL : LARGE].add(amount);
  }
  void count_whole(Statistic statistic, int64_t amount) { stats_[statistic][ALL].add(amount); }

  FreeBlocks& free_blocks(bool small) { return small ? free_small_ : free_large_; }
  std::set<Block*, ByAddress>& unmapped(bool small) { return small ? unmapped_small_ : unmapped_large_; }

  // Returns a free block of at least *size* of a segment that grows, not in the pool any more.
  Block* expand(int64_t size, c10::StreamId stream, bool small) {
    Block* block = room_for(size, stream, small);
    if (!block->mapped && !(block = map(block, size))) return nullptr;
    while (block->size < size) {
      Block* behind = block->next;
      if (!behind || behind->mapped) return nullptr;
      block = map(behind, size - block->size);
      if (!block) return nullptr;
    }
    free_blocks(small).erase(block->place);
    return block;
  }

  // Returns the first of the free and unmapped blocks, in the order of addresses, that have *size* together.
  Block* room_for(int64_t size, c10::StreamId stream, bool small) {
    const auto is_free = [](const Block* block) { return block && block->state == State::FREE; };
    for (Block* block : unmapped(small)) {
      if (block->stream != stream) continue;
      if (is_free(block->previous)) block = block->previous;
      int64_t bytes = 0;
      for (Block* each = block; bytes < size && is_free(each); each = each->next) bytes += each->size;
      if (bytes >= size) return block;
    }
    const int64_t unit = small ? SMALL_SEGMENT : settings().growth();
    const int64_t addresses = rounded_up(std::min<int64_t>(total, int64_t{1} << 42) / 8 * 9, unit);
    auto* block = make_block(next_address_, addresses, stream, small);
    block->expandable = true;
    block->mapped = false;
    next_address_ += addresses;
    segments_[block->address] = block;
    unmapped(small).insert(block);
    return block;
  }

  // Gives memory to the first *size* bytes of addresses; returns the free block that they are in, nothing where the device
  // is full.
  Block* map(Block* block, int64_t size) {
    const int64_t bytes = std::min(rounded_up(size, block->small ? SMALL_SEGMENT : settings().growth()), block->size);
    if (!fits(bytes)) return nullptr;
    unmapped(block->small).erase(block);
    if (bytes < block->size) {
      Block* rest = cut(block, bytes);
      rest->mapped = false;
      unmapped(block->small).insert(rest);
    }
    block->mapped = true;
    count(RESERVED_BYTES, block->small, bytes);
    history_.note(Action::SEGMENT_MAP, block->address, bytes, block->stream, stack_);
    if (!block->previous && !block->segment_stack) block->segment_stack = stack_;
    return settled(block);
  }

  // Takes the memory of the whole units inside a free block.
  void unmap(Block* block) {
    const int64_t unit = block->small ? SMALL_SEGMENT : settings().growth();
    int64_t base = 0;
    for (Block* first = block; first; first = first->previous) base = first->address;
    const int64_t begin = base + rounded_up(block->address - base, unit);
    const int64_t end = base + (block->address + block->size - base) / unit * unit;
    if (end <= begin) return;
    free_blocks(block->small).erase(block->place);
    if (end < block->address + block->size) free_blocks(block->small).insert(cut(block, end - block->address));
    if (begin > block->address) {
      Block* before = block;
      block = cut(block, begin - block->address);
      free_blocks(before->small).insert(before);
    }
    block->mapped = false;
    count(RESERVED_BYTES, block->small, -block->size);
    history_.note(
        Action::SEGMENT_UNMAP, block->address, block->size, block->stream, stack_ ? stack_ : block->segment_stack);
    block = settled(block);
    if (block->split()) return;
    unmapped(block->small).erase(block);
    segments_.erase(block->address);
    drop_block(block);
  }

  // Cuts a block in two after *size* bytes; returns the second part, which is in no pool.
  Block* cut(Block* block, int64_t size) {
    auto* rest = make_block(block->address + size, block->size - size, block->stream, block->small);
    rest->expandable = block->expandable;
    rest->mapped = block->mapped;
    rest->previous = block;
    rest->next = block->next;
    if (rest->next) rest->next->previous = rest;
    block->next = rest;
    block->size = size;
    return rest;
  }

  // What a free block was joined with.
  struct Joined {
    int64_t blocks = 0, bytes = 0;
  };

  // Joins a free block, which is in no pool, with its free neighbours, puts what results into its pool and returns it.
  Block* settled(Block* block, Joined* joined = nullptr) {
    auto& blocks = free_blocks(block->small);
    std::optional<Place> kept;  // of a neighbour
    for (Block* other : {block->previous, block->next}) {
      if (!other || other->state != State::FREE || other->mapped != block->mapped) continue;
      if (!other->mapped) unmapped(other->small).erase(other);
      else if (kept) blocks.erase(other->place);
      else kept = other->place;
      if (joined) *joined = {joined->blocks + 1, joined->bytes + other->size};
      Block *first = other == block->previous ? other : block, *second = first->next;
      first->size += second->size;
      first->next = second->next;
      if (first->next) first->next->previous = first;
      drop_block(second);
      block = first;
    }
    if (!block->mapped) unmapped(block->small).insert(block);
    else if (kept) blocks.replace(*kept, block);
    else blocks.insert(block);
    return block;
  }

  void free(Block* block) {
    const bool small = block->small;
    history_.note(
        Action::FREE_COMPLETED, block->address, block->requested, block->stream, stack_ ? stack_ : block->stack);
    if (C10_UNLIKELY(block->stack != nullptr)) block->stack = nullptr;
    count(ACTIVE, small, -1);
    count(ACTIVE_BYTES, small, -block->size);
    count(REQUESTED_BYTES, small, -block->requested);
    block->state = State::FREE;
    Joined joined;
    block = settled(block, &joined);
    int64_t inactive = -joined.blocks, bytes = -joined.bytes;
    if (block->split()) {
      ++inactive;
      bytes += block->size;
    }
    if (block->expandable) return;
    if (inactive) count(INACTIVE_SPLIT, small, inactive);
    if (bytes) count(INACTIVE_SPLIT_BYTES, small, bytes);
  }

  void drop(Block* block) {
    free_blocks(block->small).erase(block->place);
    segments_.erase(block->address);
    history_.note(
        Action::SEGMENT_FREE, block->address, block->size, block->stream, stack_ ? stack_ : block->segment_stack);
    count(SEGMENT, block->small, -1);
    count(RESERVED_BYTES, block->small, -block->size);
    if (is_oversize(block->size)) count_whole(OVERSIZE_SEGMENTS, -1);
    drop_block(block);
  }

  // Room of blocks that are not there any more serves those that come.
  Block* make_block(int64_t address, int64_t size, c10::StreamId stream, bool small) {
    if (!spare_) return new Block{address, size, 0, stream, small};
    Block* block = std::exchange(spare_, spare_->next);
    *block = Block{address, size, 0, stream, small};
    return block;
  }

  void drop_block(Block* block) {
    block->stack = block->segment_stack = nullptr;
    block->next = std::exchange(spare_, block);
  }

  int64_t reserved() const { return stats_[RESERVED_BYTES][ALL].current; }

  std::array<std::array<Stat, POOLS>, STATISTICS> stats_{};
  FreeBlocks free_small_, free_large_;
  std::set<Block*, ByAddress> unmapped_small_, unmapped_large_;
  std::map<int64_t, Block*> segments_;  // the first block of each, which stays first, by its address
  int64_t next_address_ = FIRST_ADDRESS;
  History history_;
  Trace stack_;  // of the call that is served
  Block* spare_ = nullptr;
  bool full_ = false;  // memory beyond the device's is given
};

}  // namespace npu
