#include "maxmargin/kernel/row_cache.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

// Every chunk is twice as large as the one before: where few rows come, as for each of many pairs
// of classes, memory that the allocator has at hand serves, instead of huge pages to be cleared.
constexpr index_t kFirstChunkBytes = 512 * 1024;
constexpr index_t kLargestChunkBytes = 16 * 1024 * 1024;

} // namespace

template <Real T>
RowCache<T>::RowCache(index_t n_keys, index_t row_length, std::size_t budget_bytes)
    : row_length_(row_length), chunk_bytes_(kFirstChunkBytes),
      slot_of_(static_cast<std::size_t>(n_keys), kNone) {
  const std::size_t row_bytes = std::max<std::size_t>(1, row_length * sizeof(T));
  const std::size_t fitting = budget_bytes / row_bytes;
  capacity_ = static_cast<index_t>(
      std::clamp<std::size_t>(fitting, 2, std::max<std::size_t>(2, slot_of_.size())));
}

template <Real T> T* RowCache<T>::find(index_t key) {
  const index_t slot = slot_of_[key];
  if (slot == kNone) {
    ++misses_;
    return nullptr;
  }
  ++hits_;
  unlink(slot);
  link_newest(slot);
  return slots_[slot].row;
}

template <Real T> T* RowCache<T>::insert(index_t key) {
  index_t slot = kNone;
  if (static_cast<index_t>(slots_.size()) < capacity_) {
    slot = static_cast<index_t>(slots_.size());
    slots_.push_back({new_row()});
  } else {
    slot = oldest_;
    unlink(slot);
    slot_of_[slots_[slot].key] = kNone;
  }
  slots_[slot].key = key;
  slot_of_[key] = slot;
  link_newest(slot);
  return slots_[slot].row;
}

template <Real T> T* RowCache<T>::new_row() {
  const index_t n = static_cast<index_t>(slots_.size());
  if (n == chunk_end_) {
    const index_t row_bytes = std::max<index_t>(1, row_length_ * index_t{sizeof(T)});
    const index_t rows = std::clamp<index_t>(chunk_bytes_ / row_bytes, 1, capacity_ - n);
    chunks_.emplace_back(rows * row_length_);
    chunk_bytes_ = std::min(2 * chunk_bytes_, kLargestChunkBytes);
    chunk_begin_ = n;
    chunk_end_ = n + rows;
  }
  return chunks_.back().data() + (n - chunk_begin_) * row_length_;
}

template <Real T> void RowCache<T>::unlink(index_t slot) {
  const Slot& s = slots_[slot];
  (s.older == kNone ? oldest_ : slots_[s.older].newer) = s.newer;
  (s.newer == kNone ? newest_ : slots_[s.newer].older) = s.older;
}

template <Real T> void RowCache<T>::link_newest(index_t slot) {
  Slot& s = slots_[slot];
  s.older = newest_;
  s.newer = kNone;
  (newest_ == kNone ? oldest_ : slots_[newest_].newer) = slot;
  newest_ = slot;
}

template class RowCache<float>;
template class RowCache<double>;

} // namespace maxmargin
