#include "maxmargin/model/text.hpp"

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#include <cerrno>
#include <cstdlib>
#include <locale.h>
#if __has_include(<xlocale.h>)
#include <xlocale.h>
#endif
#endif

namespace maxmargin {

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
std::from_chars_result from_chars(const char* begin, const char* end, double& value) {
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  // strtod takes blanks, a plus sign, hexadecimal numbers and names as well.
  const std::string token(text.substr(0, text.find_first_not_of("+-.0123456789eE")));
  char* token_end = nullptr;
  errno = 0;
  const double parsed = strtod_l(token.c_str(), &token_end, c_locale);
  const std::ptrdiff_t length = token_end - token.c_str();
  if (length == 0 || token.starts_with('+')) return {begin, std::errc::invalid_argument};
  const bool is_beyond = parsed == 0.0 || std::isinf(parsed);
  if (errno == ERANGE && is_beyond) return {begin + length, std::errc::result_out_of_range};
  value = parsed;
  return {begin + length, std::errc{}};
}
#endif

bool is_tiny(std::string_view number) {
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, e);
  // The power of ten of the first digit that is not 0.
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<std::int64_t>(digits.find_first_of("123456789"));
  std::int64_t exponent = 0;
  if (e < number.size()) {
    number.remove_prefix(number.substr(e + 1).starts_with('+') ? e + 2 : e + 1);
    const bool is_negative = number.starts_with('-');
    if (!take_integer(number, exponent)) return is_negative;
  }
  return exponent < first - point;
}

std::string quoted(std::string_view token) {
  constexpr std::size_t longest_shown = 40;
  constexpr std::string_view hex = "0123456789abcdef";
  std::string shown = "'";
  for (const char c : token.substr(0, longest_shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      shown += c;
    } else {
      shown += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return shown + (token.size() > longest_shown ? "...'" : "'");
}

void fail_at_line(index_t line, const std::string& what) {
  throw InvalidArgument("line " + std::to_string(line) + ": " + what);
}

void fail_at_line(index_t line, const std::string& what, std::string_view token) {
  fail_at_line(line, what + ", got " + quoted(token));
}

} // namespace maxmargin
