#pragma once

#include "maxmargin/base/aligned_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace maxmargin {

// An owning array of aligned memory. Elements are numbers: they are not constructed, and are zero
// only when asked for.
template <class T> class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(index_t size) : size_(size), data_(allocate(size)) {}

  static AlignedBuffer zeros(index_t size) {
    AlignedBuffer buffer(size);
    if (size > 0) std::memset(buffer.data(), 0, static_cast<std::size_t>(size) * sizeof(T));
    return buffer;
  }

  // Keeps the memory when it is large enough; the contents are unspecified afterwards.
  void resize_discard(index_t size) {
    if (size > capacity_) *this = AlignedBuffer(size);
    size_ = size;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  index_t size() const { return size_; }
  T& operator[](index_t i) { return data_.get()[i]; }
  const T& operator[](index_t i) const { return data_.get()[i]; }
  std::span<T> span() { return {data(), static_cast<std::size_t>(size_)}; }
  std::span<const T> span() const { return {data(), static_cast<std::size_t>(size_)}; }

  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

 private:
  struct Free {
    std::size_t bytes = 0;
    void operator()(T* p) const { AlignedMemory::free(p, bytes); }
  };
  using Owner = std::unique_ptr<T, Free>;

  Owner allocate(index_t size) {
    capacity_ = size;
    if (size == 0) return {};
    const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
    return Owner(static_cast<T*>(AlignedMemory::allocate(bytes)), Free{bytes});
  }
  void swap(AlignedBuffer& other) {
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(data_, other.data_);
  }

  index_t size_ = 0;
  index_t capacity_ = 0;
  Owner data_;
};

} // namespace maxmargin
