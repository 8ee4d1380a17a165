#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

// What is left of the input; zeros behind its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  template <class T> T take() {
    T value{};
    const std::size_t n = std::min(sizeof value, size_);
    if (n > 0) std::memcpy(&value, data_, n);
    data_ += n;
    size_ -= n;
    return value;
  }
  // Mostly small; at times anything.
  std::int64_t number(std::int64_t most) {
    const auto choice = take<std::uint8_t>();
    if (choice == 255) return take<std::int64_t>();
    return choice % (most + 1);
  }
  double real() {
    const auto choice = take<std::uint8_t>();
    if (choice >= 250) return take<double>();
    return (choice - 100) * (choice % 2 == 0 ? 0.1 : 1.0);
  }
  std::string text() {
    std::string text(reinterpret_cast<const char*>(data_), std::min<std::size_t>(size_, 4096));
    return text;
  }
  bool is_empty() const { return size_ == 0; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};
