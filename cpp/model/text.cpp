#include "model/text.hpp"

namespace maxmargin {
namespace {

constexpr std::size_t kLongestTokenShown = 40;

// Messages must stay plain ASCII, whatever bytes the file holds.
std::string printable(std::string_view token) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string shown;
  for (const char c : token.substr(0, kLongestTokenShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      shown += c;
    } else {
      shown += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    }
  }
  return token.size() > kLongestTokenShown ? shown + "..." : shown;
}

} // namespace

void fail_at_line(index_t line, const std::string& what) {
  throw InvalidArgument("line " + std::to_string(line) + ": " + what);
}

void fail_at_line(index_t line, const std::string& what, std::string_view token) {
  fail_at_line(line, what + ", got '" + printable(token) + "'");
}

} // namespace maxmargin
