// The text of the allocator's settings, "key:value,key:[from:to,>:to]", as words and signs.
#pragma once

#include <cctype>
#include <string>
#include <vector>

#include <c10/util/Exception.h>

namespace npu {

class Tokens {
 public:
  explicit Tokens(const std::string& text) {
    std::string word;
    const auto end_word = [&] {
      if (!word.empty()) tokens_.push_back(std::move(word));
      word.clear();
    };
    for (const char c : text) {
      if (c == ',' || c == ':' || c == '[' || c == ']') {
        end_word();
        tokens_.emplace_back(1, c);
      } else if (!std::isspace(static_cast<unsigned char>(c))) {
        word += c;
      }
    }
    end_word();
  }

  size_t size() const { return tokens_.size(); }

  // Returns the token at *i*; behind the end there are empty ones.
  const std::string& operator[](size_t i) const {
    static const std::string nothing;
    return i < tokens_.size() ? tokens_[i] : nothing;
  }

  void expect(size_t i, const char* sign) const {
    TORCH_CHECK_VALUE(
        (*this)[i] == sign, "Expected '", sign, "' at index ", i, " of the NPU allocator config, but got '", (*this)[i], "'");
  }

  // Returns the index of the last token of the value whose key stands at *i*.
  size_t end_of_value(size_t i) const {
    expect(i + 1, ":");
    i += 2;
    TORCH_CHECK_VALUE(i < size(), "Error, expecting ", (*this)[i - 2], " value");
    if (tokens_[i] != "[") return i;
    while (i + 1 < size() && tokens_[i] != "]") ++i;
    expect(i, "]");
    return i;
  }

  // The value at *i*, which belongs to *key*; other texts raise ValueError.
  size_t whole(size_t i, const std::string& key) const {
    const auto& text = (*this)[i];
    bool digits = !text.empty() && text.size() < 19;  // more do not fit into 64 bits
    for (const char c : text) digits = digits && std::isdigit(static_cast<unsigned char>(c));
    TORCH_CHECK_VALUE(digits, "Expected a whole number for ", key, " in NPU allocator config, but got '", text, "'");
    return std::stoull(text);
  }

  double number(size_t i, const std::string& key) const {
    const auto& text = (*this)[i];
    size_t used = 0;
    double value = 0;
    try {
      value = std::stod(text, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    TORCH_CHECK_VALUE(
        used && used == text.size(), "Expected a number for ", key, " in NPU allocator config, but got '", text, "'");
    return value;
  }

  // The error is worded as PyTorch's ConfigTokenizer words it.
  bool flag(size_t i) const {
    const auto& text = (*this)[i];
    TORCH_CHECK_VALUE(
        text == "True" || text == "False", "Expected 'True' or 'False' at index ", i, " in ConfigTokenizer but got '",
        text, "'");
    return text == "True";
  }

 private:
  std::vector<std::string> tokens_;
};

}  // namespace npu
