#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/control.hpp"
#include "maxmargin/data/scaling.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/simd/kernel_table.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// Dense samples packed into panels of kLane<T> rows, feature by feature, each followed by a line of
// half norms (simd/kernel_table.hpp). One allocation; rows beyond the last are zero.
template <Real T> class PackedDense {
 public:
  PackedDense() = default;

  // Packs the given rows of X, in that order. `table` computes the norms; `control` may be null.
  PackedDense(const MatrixView& X, std::span<const index_t> rows, const Scaling& scaling,
              simd::Pairing pairing, const simd::RealTable<T>& table, int threads,
              Control* control = nullptr);
  // Packs rows of panels that exist already.
  PackedDense(std::span<const T* const> panels, index_t depth, std::span<const index_t> rows);

  index_t rows() const { return rows_; }
  index_t depth() const { return depth_; }
  index_t n_panels() const { return (rows_ + kLane<T> - 1) / kLane<T>; }
  const T* panel(index_t p) const { return data_.data() + p * panel_size(depth_); }
  std::vector<const T*> panels() const;

  static index_t panel_size(index_t depth) { return (depth + 1) * kLane<T>; }

 private:
  index_t rows_ = 0;
  index_t depth_ = 0;
  AlignedBuffer<T> data_;
};

// Query rows gathered from panels (or samples) into the tiles that dense_block reads.
template <Real T> class DenseQueries {
 public:
  void gather(std::span<const T* const> panels, index_t depth, std::span<const index_t> rows,
              index_t tile_rows);

  // The same from rows of `depth` numbers each.
  void take_rows(std::span<const T* const> rows, index_t depth, index_t tile_rows);

  // One query: where its numbers go, and its half norm.
  T* set_row(index_t depth) {
    rows_ = 1;
    depth_ = depth;
    values_.resize_discard(depth);
    half_norms_.resize_discard(1);
    return values_.data();
  }
  void set_half_norm(T half_norm) { half_norms_[0] = half_norm; }

  index_t rows() const { return rows_; }

  // Fills in the query side of the block, n queries from `first` on, a multiple of tile_rows, and
  // the panels that they meet.
  void describe(index_t first, index_t n, std::span<const T* const> panels,
                simd::DenseBlock<T>& block) const;

 private:
  template <class Fill>
  void fill_tiles(index_t n_rows, index_t depth, index_t tile_rows, const Fill& fill);

  index_t rows_ = 0;
  index_t depth_ = 0;
  AlignedBuffer<T> values_;
  AlignedBuffer<T> half_norms_;
};

} // namespace maxmargin
