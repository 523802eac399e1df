// The free blocks of one pool in the order of streams and sizes. A block knows its place there, and one that is cut or joined
// keeps it where the order stays the same: most allocations neither search nor change the tree.
#pragma once

#include <iterator>

#include "block.h"

namespace npu {

class FreeBlocks {
 public:
  void insert(Block* block) { block->place = blocks_.insert(block).first; }
  void erase(Place place) { blocks_.erase(place); }

  // Puts a block in the place of one that leaves the pool, or of itself where its numbers have changed.
  void replace(Place place, Block* fresh) {
    if (stays(place, fresh)) {
      const_cast<Block*&>(*place) = fresh;
      fresh->place = place;
      return;
    }
    auto node = blocks_.extract(place);
    node.value() = fresh;
    fresh->place = blocks_.insert(std::move(node)).position;
  }

  // Returns the smallest block of a stream that has *size*, or what stands behind it.
  Place smallest(c10::StreamId stream, int64_t size) const {
    if (blocks_.size() == 1) {
      const Block* only = *blocks_.begin();
      const bool before = only->stream != stream ? only->stream < stream : only->size < size;
      return before ? blocks_.end() : blocks_.begin();
    }
    const Block wanted{0, size, 0, stream, false};
    return blocks_.lower_bound(const_cast<Block*>(&wanted));
  }

  Place begin() const { return blocks_.begin(); }
  Place end() const { return blocks_.end(); }

 private:
  bool stays(Place place, const Block* fresh) const {
    if (blocks_.size() == 1) return true;
    const BySize before;
    const auto next = std::next(place);
    return (place == blocks_.begin() || before(*std::prev(place), fresh)) && (next == blocks_.end() || before(fresh, *next));
  }

  std::set<Block*, BySize> blocks_;
};

}  // namespace npu
