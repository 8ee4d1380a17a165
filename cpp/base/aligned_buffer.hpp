#pragma once

#include "base/types.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace maxmargin {

// An owning array on cache-line boundaries. Elements are numbers: they are not constructed, and are
// zero only when asked for. Large ones ask for whole huge pages, since the first touch of every
// small page costs more than computing what is written there (2.5 ms for 8 MB, where huge ones take
// 0.3).
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
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  struct Free {
    std::align_val_t alignment{kAlignment};
    void operator()(T* p) const { ::operator delete(p, alignment); }
  };
  using Owner = std::unique_ptr<T, Free>;

  Owner allocate(index_t size) {
    capacity_ = size;
    if (size == 0) return {};
    std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
    const bool is_large = bytes >= kHugePage;
    if (is_large) bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    const std::align_val_t alignment{is_large ? kHugePage : kAlignment};
    void* memory = ::operator new(bytes, alignment);
#ifdef MADV_HUGEPAGE
    if (is_large) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return Owner(static_cast<T*>(memory), Free{alignment});
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
