#pragma once

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace maxmargin {

// The bytes of a file. Nothing, and errno says why, where it cannot be read.
inline std::optional<std::string> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return {};
  return text;
}

// Whether the file could be written; errno says why not.
inline bool write_file(const char* path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file.good();
}

} // namespace maxmargin
