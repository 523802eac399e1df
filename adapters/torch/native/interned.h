// Numbers for what comes again and again: names of operators, and calls with their arguments.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <c10/macros/Macros.h>

namespace npu {

// 96 bits, by which two byte strings are told apart: of a billion different ones, two are alike with a chance below 1e-11.
// Comparing the bytes themselves would read memory that is long out of the processor's caches.
struct Fingerprint {
  uint64_t low;
  uint32_t high;
  bool operator==(const Fingerprint&) const = default;
};

// Two words at a time by products of 128 bits, whose halves are joined: a call has 8 to 60 words.
inline Fingerprint fingerprint_of(std::string_view bytes) {
  constexpr uint64_t FIRST = 0x9E3779B97F4A7C15ULL, SECOND = 0xD1B54A32D192ED03ULL;
  constexpr uint64_t THIRD = 0xA0761D6478BD642FULL, FOURTH = 0x8EBC6AF09C88C6E3ULL;
  const auto join = [](uint64_t left, uint64_t right) {
    const auto product = static_cast<unsigned __int128>(left) * right;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  const auto word = [](const char* at, size_t length) {
    uint64_t found = 0;
    std::memcpy(&found, at, length);
    return found;
  };
  uint64_t low = bytes.size() * FIRST, high = bytes.size() * THIRD;
  const auto add = [&](uint64_t left, uint64_t right) {
    low = join(left ^ FIRST ^ low, right ^ SECOND);
    high = join(left ^ FOURTH, right ^ THIRD ^ high);
  };
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 16; at += 16, left -= 16) add(word(at, 8), word(at + 8, 8));
  if (left >= 8) add(word(at, 8), word(at + 8, left - 8));
  else if (left) add(word(at, left), 0);
  return {low, static_cast<uint32_t>(high ^ high >> 32)};
}

// Distinct byte strings, numbered in the order in which they come. They lie one behind the other.
class Interned {
 public:
  int32_t number(std::string_view bytes) {
    const auto fingerprint = fingerprint_of(bytes);
    const int32_t known = find(fingerprint).number;
    return known >= 0 ? known : add(fingerprint, bytes);
  }

  std::string_view operator[](int32_t number) const {
    const auto at = static_cast<size_t>(number);
    const auto begin = at ? static_cast<size_t>(ends_[at - 1]) : 0;
    return std::string_view(bytes_).substr(begin, static_cast<size_t>(ends_[at]) - begin);
  }

  size_t size() const { return ends_.size(); }
  const std::string& bytes() const { return bytes_; }
  const std::vector<int64_t>& ends() const { return ends_; }

 protected:
  // A quarter of a line of the processor's caches.
  struct Slot {
    uint64_t low = 0;
    uint32_t high = 0;
    int32_t number = -1;
  };

  // Returns the slot of a byte string, without a number if that is new. It stays where it is until one is added.
  const Slot& find(const Fingerprint& fingerprint) const { return slots_[place(fingerprint)]; }

  // Returns the slot where the search for a byte string begins, by the low half of its fingerprint.
  const Slot& first_slot(uint64_t low) const { return slots_[low & (slots_.size() - 1)]; }

  int32_t add(const Fingerprint& fingerprint, std::string_view bytes) {
    const auto number = static_cast<int32_t>(ends_.size());
    bytes_.append(bytes);
    ends_.push_back(static_cast<int64_t>(bytes_.size()));
    add_key(fingerprint, number);
    return number;
  }

  void add_key(const Fingerprint& fingerprint, int32_t number) {
    if (++used_ * 4 > slots_.size() * 3) grow();
    slots_[place(fingerprint)] = {fingerprint.low, fingerprint.high, number};
  }

 private:
  size_t place(const Fingerprint& fingerprint) const {
    size_t at = fingerprint.low & (slots_.size() - 1);
    while (slots_[at].number >= 0 && (slots_[at].low != fingerprint.low || slots_[at].high != fingerprint.high))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  void grow() {
    std::vector<Slot> slots(slots_.size() * 2);
    slots_.swap(slots);
    for (const auto& slot : slots)
      if (slot.number >= 0) slots_[place({slot.low, slot.high})] = slot;
  }

  std::string bytes_;
  std::vector<int64_t> ends_;
  size_t used_ = 0;
  std::vector<Slot> slots_ = std::vector<Slot>(16);
};

// Calls of one thread, each known by one or two keys. Scripts repeat themselves: what came behind a call is likely to come
// behind it again. What is read for that is fetched into the processor's caches meanwhile, where the work in between has
// displaced it.
class Calls : public Interned {
 public:
  // Returns the number of a call, less than 0 if no call has this key.
  int32_t find(const Fingerprint& key) {
    const auto& slot = Interned::find(key);
    if (C10_LIKELY(slot.number >= 0)) follow(slot);
    return slot.number;
  }

  int32_t add(const Fingerprint& key, std::string_view call) {
    nexts_.emplace_back();
    return Interned::add(key, call);
  }

  using Interned::add_key;

 private:
  struct Next {
    uint64_t key = 0;
    int32_t number = -1;
  };

  void follow(const Slot& slot) {
    if (slot.number != expected_ && last_ >= 0) nexts_[static_cast<size_t>(last_)] = {slot.low, slot.number};
    const auto& next = nexts_[static_cast<size_t>(slot.number)];
    last_ = slot.number;
    expected_ = next.number;
    if (expected_ < 0) return;
    __builtin_prefetch(&first_slot(next.key));
    __builtin_prefetch(&nexts_[static_cast<size_t>(expected_)]);
  }

  std::vector<Next> nexts_;  // what came behind a call the last time, by its number
  int32_t last_ = -1, expected_ = -1;
};

}  // namespace npu
