#pragma once

// What LIBSVM's and LIBLINEAR's model files share: lines of a keyword and numbers.

#include "maxmargin/model/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace maxmargin {

// The lines of a model file before its numbers, `end` alone on a line: a keyword and what follows
// it. Throws InvalidArgument, with line number, where they are not what is asked for.
class KeywordLines {
 public:
  KeywordLines(TextLines& lines, const std::string& format,
               std::span<const std::string_view> keywords, std::string_view end)
      : last_(end) {
    std::string_view line;
    while (lines.next(line)) {
      skip_blanks(line);
      if (line.empty()) continue;
      const std::string_view keyword = first_token(line);
      line.remove_prefix(keyword.size());
      skip_blanks(line);
      if (keyword == end) {
        if (!line.empty())
          fail_at_line(lines.number(), last_ + " must stand alone on its line", line);
        end_ = lines.number();
        return;
      }
      if (std::ranges::find(keywords, keyword) == keywords.end())
        fail_at_line(lines.number(), "not a " + format + " model: unknown keyword", keyword);
      if (!fields_.try_emplace(keyword, Field{lines.number(), line}).second)
        fail_at_line(lines.number(), "keyword given twice", keyword);
    }
    fail_at_line(lines.number(),
                 "not a " + format + " model: the text ends before the line '" + last_ + "'");
  }

  bool has(std::string_view keyword) const { return fields_.contains(keyword); }

  // A field of one word.
  std::string_view word(std::string_view keyword) const {
    const Field& field = get(keyword);
    const std::string_view word = first_token(field.rest);
    std::string_view after = field.rest.substr(word.size());
    skip_blanks(after);
    if (word.empty() || !after.empty())
      fail_at_line(field.line, std::string(keyword) + " must be one word", field.rest);
    return word;
  }

  template <class T> std::vector<T> numbers(std::string_view keyword) const {
    const Field& field = get(keyword);
    std::vector<T> numbers;
    std::string_view rest = field.rest;
    while (!rest.empty()) {
      const std::string_view token = first_token(rest);
      T number{};
      if (!take_number(rest, number) || !at_token_end(rest))
        fail_at_line(field.line,
                     std::string(keyword) + (std::integral<T> ? " must be a whole number"
                                                              : " must be a finite number"),
                     token);
      numbers.push_back(number);
      skip_blanks(rest);
    }
    return numbers;
  }

  template <class T> T number(std::string_view keyword) const {
    const std::vector<T> all = numbers<T>(keyword);
    check(all.size() == 1, keyword, "must be one number");
    return all.front();
  }

  void check(bool condition, std::string_view keyword, const std::string& what) const {
    if (!condition) fail_at_line(get(keyword).line, std::string(keyword) + " " + what);
  }

 private:
  struct Field {
    index_t line;
    std::string_view rest;
  };

  static bool take_number(std::string_view& rest, double& value) { return take_real(rest, value); }
  template <std::integral T> static bool take_number(std::string_view& rest, T& value) {
    return take_integer(rest, value);
  }

  const Field& get(std::string_view keyword) const {
    const auto field = fields_.find(keyword);
    if (field == fields_.end())
      fail_at_line(end_, std::string(keyword) + " is missing before the line '" + last_ + "'");
    return field->second;
  }

  std::map<std::string_view, Field> fields_;
  std::string last_;
  index_t end_ = 1;
};

template <class T>
void append_line(std::string& text, std::string_view keyword, const std::vector<T>& numbers) {
  text += keyword;
  for (const T number : numbers) {
    text += ' ';
    if constexpr (std::integral<T>)
      append_integer(text, number);
    else
      append_real(text, number);
  }
  text += '\n';
}

// Takes `count` numbers from the front of the last line.
inline void take_reals(const TextLines& lines, std::string_view& line, index_t count,
                       const std::string& what, std::vector<double>& numbers) {
  for (index_t k = 0; k < count; ++k) {
    const std::string_view token = first_token(line);
    numbers.push_back(0.0);
    if (!take_real(line, numbers.back()) || !at_token_end(line))
      fail_at_line(lines.number(), "expected " + std::to_string(count) + " finite " + what, token);
    skip_blanks(line);
  }
}

inline std::vector<std::int32_t> integer_labels(const std::vector<double>& labels,
                                                const std::string& format) {
  std::vector<std::int32_t> integers;
  for (const double label : labels) {
    using Limits = std::numeric_limits<std::int32_t>;
    require(std::trunc(label) == label && label >= Limits::min() && label <= Limits::max(),
            format + "'s model format holds only 32-bit integer labels");
    integers.push_back(static_cast<std::int32_t>(label));
  }
  return integers;
}

} // namespace maxmargin
