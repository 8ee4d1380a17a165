#include "model/text.hpp"

namespace maxmargin {

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
