#pragma once

#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

namespace maxmargin {

// The bytes of a file. Nothing, and errno says why, where it cannot be read.
inline std::optional<std::string> read_file(const char* path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path, "rb"));
  if (!file) return {};
  std::string text;
  char block[1 << 16];
  while (const std::size_t size = std::fread(block, 1, sizeof block, file.get()))
    text.append(block, size);
  if (std::ferror(file.get()) != 0) return {}; // a folder is opened, but not read
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
