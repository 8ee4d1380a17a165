#pragma once

// What the readers and writers of text files share. Numbers are parsed and printed by <charconv>,
// which knows no locale. Lines end with LF, CR LF or CR; blanks are spaces and tabs.

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/types.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

namespace maxmargin {

// The token in quotes for a message: shortened, and plain ASCII whatever its bytes are.
std::string quoted(std::string_view token);

// Throws InvalidArgument("line 3: <what>, got '<token>'").
[[noreturn]] void fail_at_line(index_t line, const std::string& what);
[[noreturn]] void fail_at_line(index_t line, const std::string& what, std::string_view token);

// The lines of a text, one after the other, without their ends; a UTF-8 byte order mark is skipped.
// Linear in the size of the text however long the lines are.
class TextLines {
 public:
  explicit TextLines(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }

  bool next(std::string_view& line) {
    if (begin_ == text_.size()) return false;
    ++number_;
    if (!knows_newline_ || newline_ < begin_) {
      newline_ = std::min(text_.find('\n', begin_), text_.size());
      knows_newline_ = true;
    }
    line = text_.substr(begin_, newline_ - begin_);
    const std::size_t carriage_return = line.find('\r');
    if (carriage_return != std::string_view::npos) line = line.substr(0, carriage_return);

    begin_ += line.size();
    is_ended_ = begin_ < text_.size();
    if (begin_ < newline_) ++begin_;                             // CR
    if (begin_ == newline_ && newline_ < text_.size()) ++begin_; // LF
    return true;
  }

  // 1-based number of the last line returned by next(), 1 for an empty text.
  index_t number() const { return number_ == 0 ? 1 : number_; }
  // Whether that line had a line end (only the last one of a text may lack it).
  bool is_ended() const { return is_ended_; }

 private:
  std::string_view text_;
  std::size_t begin_ = 0;
  std::size_t newline_ = 0; // the first LF at or after begin_, or the size of the text
  bool knows_newline_ = false;
  bool is_ended_ = true;
  index_t number_ = 0;
};

inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

inline void skip_blanks(std::string_view& rest) {
  std::size_t i = 0;
  while (i < rest.size() && is_blank(rest[i])) ++i;
  rest.remove_prefix(i);
}

// The characters up to the next blank.
inline std::string_view first_token(std::string_view rest) {
  return rest.substr(0, rest.find_first_of(" \t"));
}

// Whether a token that was read up to here is over.
inline bool at_token_end(std::string_view rest) {
  return rest.empty() || is_blank(rest.front());
}

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
// What libc++ lacks for float64 before version 20, but that "inf" and "nan" are no numbers.
std::from_chars_result from_chars(const char* begin, const char* end, double& value);
#else
using std::from_chars;
#endif

// Whether a number that float64 cannot hold is too small, rather than too large.
bool is_tiny(std::string_view number);

// Takes a finite number from the front of `rest`; one too small for float64 is 0. False when there
// is none, or when it is too large; `rest` is then unspecified.
inline bool take_real(std::string_view& rest, double& value) {
  if (rest.starts_with('+')) {
    rest.remove_prefix(1);
    if (rest.starts_with('-')) return false;
  }
  const char* end = rest.data() + rest.size();
  const auto [next, error] = from_chars(rest.data(), end, value);
  const auto length = static_cast<std::size_t>(next - rest.data());
  const std::string_view number = rest.substr(0, length);
  rest.remove_prefix(length);
  if (error == std::errc::result_out_of_range && is_tiny(number)) {
    value = number.starts_with('-') ? -0.0 : 0.0;
    return true;
  }
  return error == std::errc{} && std::isfinite(value);
}

// Takes an integer that T can hold from the front of `rest`, or returns false.
template <std::integral T> bool take_integer(std::string_view& rest, T& value) {
  const auto [next, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  rest.remove_prefix(static_cast<std::size_t>(next - rest.data()));
  return error == std::errc{};
}

// Takes "index:value" with a non-negative index, or returns false.
inline bool take_entry(std::string_view& rest, std::uint64_t& index, double& value) {
  if (!take_integer(rest, index) || !rest.starts_with(':')) return false;
  rest.remove_prefix(1);
  return take_real(rest, value) && at_token_end(rest);
}

// The fewest digits that give back the same bits.
inline void append_real(std::string& text, double value) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

template <std::integral T> void append_integer(std::string& text, T value) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

} // namespace maxmargin
