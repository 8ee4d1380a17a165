#pragma once

#include "maxmargin/base/aligned_buffer.hpp"

#include <cstddef>
#include <vector>

namespace maxmargin {

// The most recently used rows of a matrix, under a byte budget. It knows keys and lengths, not
// kernels. Memory is taken row by row as rows come, and never more than the budget (but room for
// two rows, the least that a working pair needs). Not thread-safe.
template <Real T> class RowCache {
 public:
  // Keys are in [0, n_keys); every row has `row_length` numbers.
  RowCache(index_t n_keys, index_t row_length, std::size_t budget_bytes);

  // The row of `key`, which becomes the most recently used; nullptr when it is not there.
  T* find(index_t key);

  // The same without a trace.
  const T* peek(index_t key) const {
    return slot_of_[key] == kNone ? nullptr : slots_[slot_of_[key]].row;
  }

  // Room for the row of `key`, which must not be there; the contents are the caller's to write. The
  // least recently used row gives way when there is no room.
  T* insert(index_t key);

  index_t capacity() const { return capacity_; } // rows
  std::size_t hits() const { return hits_; }
  std::size_t misses() const { return misses_; }

 private:
  static constexpr index_t kNone = -1;
  struct Slot {
    T* row = nullptr;
    index_t key = kNone;
    index_t older = kNone, newer = kNone;
  };

  T* new_row();
  void unlink(index_t slot);
  void link_newest(index_t slot);

  index_t row_length_;
  index_t chunk_bytes_; // of the next one
  index_t capacity_;
  std::vector<index_t> slot_of_; // by key
  std::vector<AlignedBuffer<T>> chunks_;
  index_t chunk_begin_ = 0, chunk_end_ = 0; // slots of the last one
  std::vector<Slot> slots_;
  index_t oldest_ = kNone, newest_ = kNone;
  std::size_t hits_ = 0, misses_ = 0;
};

} // namespace maxmargin
