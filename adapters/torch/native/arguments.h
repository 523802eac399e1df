// The arguments of a call as words of 64 bits: what Kineto keeps of them, which is shapes, types and numbers, and the
// indices of index and index_put, which Kineto leaves out and which their time depends on.
// drynpu_torch/capture/_calls.py reads them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/macros/Macros.h>

namespace torch::profiler::impl {
TORCH_API bool get_record_concrete_inputs_enabled();
}

namespace npu {

// Words in a row, most often few. Where the next one goes is a pointer, which the compiler keeps in a register.
class Words {
 public:
  Words() : next_(few_.data()), end_(next_ + few_.size()) {}
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  const int64_t* data() const { return many_.empty() ? few_.data() : many_.data(); }
  int64_t* data() { return many_.empty() ? few_.data() : many_.data(); }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(data()), size() * sizeof(int64_t)}; }
  size_t size() const { return static_cast<size_t>(next_ - data()); }

  void push_back(int64_t word) { *room(1) = word; }

  // Adds as many words, which the caller fills.
  int64_t* room(size_t count) {
    if (C10_UNLIKELY(static_cast<size_t>(end_ - next_) < count)) grow(count);
    return std::exchange(next_, next_ + count);
  }

  void cut(size_t size) { next_ = data() + size; }

  // Adds a text in whole words; behind it stands at least one 0.
  void add_text(std::string_view text) {
    const size_t count = text.size() / sizeof(int64_t) + 1;
    int64_t* at = room(count);
    at[count - 1] = 0;
    std::memcpy(at, text.data(), text.size());
  }

 private:
  C10_NOINLINE void grow(size_t count) {
    const size_t used = size();
    std::vector<int64_t> words(2 * used + count);
    std::copy_n(data(), used, words.data());
    many_ = std::move(words);
    next_ = many_.data() + used;
    end_ = many_.data() + many_.size();
  }

  int64_t *next_, *end_;
  std::vector<int64_t> many_;
  std::array<int64_t, 96> few_;
};

// The lowest byte of an argument's first word; a tensor's type stands in the next byte, lengths from bit 16 on.
enum class Argument : int64_t { OTHER, TENSOR, TENSORS, NUMBER, NUMBERS, OPTIONALS };
enum class Number : int64_t { UNKNOWN, INTEGER, REAL, TRUTH, COMPLEX };

constexpr size_t LONGEST_NUMBERS = 30;  // as Kineto's SCALAR_LIST_LENGTH_LIMIT

// A first word with the sizes of a tensor, or of a list's item, behind it.
inline void add_sizes(Words& words, int64_t first, c10::IntArrayRef sizes) {
  int64_t* at = words.room(1 + sizes.size());
  *at++ = first;
  for (const int64_t size : sizes) *at++ = size;
}

inline int64_t first_word(Argument kind, size_t length = 0, int64_t type = 0) {
  return static_cast<int64_t>(kind) | type << 8 | static_cast<int64_t>(length) << 16;
}

inline void add_number(Words& words, const c10::IValue& value) {
  const auto add = [&](Number kind, int64_t bits) {
    words.push_back(static_cast<int64_t>(kind));
    words.push_back(bits);
  };
  if (value.isInt()) {
    add(Number::INTEGER, value.toInt());
  } else if (value.isDouble()) {
    add(Number::REAL, std::bit_cast<int64_t>(value.toDouble()));
  } else if (value.isBool()) {
    add(Number::TRUTH, value.toBool());
  } else if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    add(Number::COMPLEX, std::bit_cast<int64_t>(number.real()));
    words.push_back(std::bit_cast<int64_t>(number.imag()));
  } else {
    words.push_back(static_cast<int64_t>(Number::UNKNOWN));  // a symbol
  }
}

// Kineto leaves these out, too: their sizes are no plain numbers.
inline bool has_plain_sizes(const at::Tensor& tensor) {
  return tensor.defined() && !tensor.is_nested() && !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

inline void add_tensors(Words& words, const c10::IValue& value) {
  const auto list = value.toListRef();
  const size_t begin = words.size();
  words.push_back(first_word(Argument::TENSORS, list.size()));
  for (const auto& item : list) {
    const auto& tensor = item.toTensor();
    if (!has_plain_sizes(tensor)) {
      words.cut(begin);
      words.push_back(first_word(Argument::OTHER));
      return;
    }
    const auto sizes = tensor.sizes();
    add_sizes(words, static_cast<int64_t>(sizes.size()), sizes);
  }
}

// PyTorch writes an optional tensor that is not there either way.
inline bool is_absent(const c10::IValue& item) {
  return item.isNone() || (item.isTensor() && !item.toTensor().defined());
}

inline bool are_optional_tensors(c10::ArrayRef<c10::IValue> list) {
  bool found = false;
  for (const auto& item : list) {
    if (is_absent(item)) continue;
    if (!item.isTensor() || !has_plain_sizes(item.toTensor())) return false;
    found = true;
  }
  return found;
}

// Of each tensor its first word and sizes, -1 where there is none.
inline void add_optional_tensors(Words& words, c10::ArrayRef<c10::IValue> list) {
  words.push_back(first_word(Argument::OPTIONALS, list.size()));
  for (const auto& item : list) {
    if (is_absent(item)) {
      words.push_back(-1);
      continue;
    }
    const auto& tensor = item.toTensor();
    const auto sizes = tensor.sizes();
    add_sizes(words, first_word(Argument::TENSOR, sizes.size(), static_cast<int64_t>(tensor.scalar_type())), sizes);
  }
}

inline void add_list(Words& words, const c10::IValue& value) {
  const auto list = value.toListRef();
  if (are_optional_tensors(list)) {
    add_optional_tensors(words, list);
    return;
  }
  const bool kept = list.empty() || (list[0].isScalar() && list.size() <= LONGEST_NUMBERS);
  if (!kept || !torch::profiler::impl::get_record_concrete_inputs_enabled()) {
    words.push_back(first_word(Argument::OTHER));
    return;
  }
  words.push_back(first_word(Argument::NUMBERS, list.size()));
  for (const auto& item : list) add_number(words, item);
}

inline void add_argument(Words& words, const c10::IValue& value) {
  if (value.isTensor()) {
    const auto& tensor = value.toTensor();
    if (!has_plain_sizes(tensor)) {
      words.push_back(first_word(Argument::OTHER));
      return;
    }
    const auto sizes = tensor.sizes();
    add_sizes(words, first_word(Argument::TENSOR, sizes.size(), static_cast<int64_t>(tensor.scalar_type())), sizes);
  } else if (value.isScalar()) {
    words.push_back(first_word(Argument::NUMBER));
    add_number(words, value);
  } else if (value.isTensorList()) {
    add_tensors(words, value);
  } else if (value.isList()) {
    add_list(words, value);
  } else {
    words.push_back(first_word(Argument::OTHER));
  }
}

}  // namespace npu
