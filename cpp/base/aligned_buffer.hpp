#pragma once

#include "base/types.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace maxmargin {

// An owning array on cache-line boundaries. Elements are numbers: they are not constructed, and are
// zero only when asked for.
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
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{kAlignment}); }
  };

  T* allocate(index_t size) {
    capacity_ = size;
    if (size == 0) return nullptr;
    return static_cast<T*>(
        ::operator new(static_cast<std::size_t>(size) * sizeof(T), std::align_val_t{kAlignment}));
  }
  void swap(AlignedBuffer& other) {
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(data_, other.data_);
  }

  index_t size_ = 0;
  index_t capacity_ = 0;
  std::unique_ptr<T, Free> data_;
};

} // namespace maxmargin
