#include "maxmargin/data/packed/packed_dense.hpp"

#include "maxmargin/base/parallel.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

constexpr double kWorkOfElement = 4.0; // multiplications that packing one takes as long as

} // namespace

template <Real T>
PackedDense<T>::PackedDense(const MatrixView& X, std::span<const index_t> rows,
                            const Scaling& scaling, simd::Pairing pairing,
                            const simd::RealTable<T>& table, int threads, Control* control)
    : rows_(static_cast<index_t>(rows.size())), depth_(n_cols(X)) {
  data_ = AlignedBuffer<T>(n_panels() * panel_size(depth_));
  threads = thread_count_for(threads, kWorkOfElement * static_cast<double>(data_.size()));
  std::visit(
      [&](const auto& view) {
        parallel_ranges(n_panels(), 1, threads, [&](index_t begin, index_t end, int) {
          for (index_t p = begin; p < end; ++p) {
            if (control != nullptr) control->poll();
            T* panel = data_.data() + p * panel_size(depth_);
            std::fill_n(panel, panel_size(depth_), T(0));
            const index_t used = std::min(kLane<T>, rows_ - p * kLane<T>);
            if (is_sparse(X) && !scaling.centre.empty())
              for (index_t k = 0; k < depth_; ++k)
                std::fill_n(panel + k * kLane<T>, used, packed_zero<T>(scaling, k));
            for (index_t lane = 0; lane < used; ++lane)
              for_each_feature<T>(view, rows[p * kLane<T> + lane], scaling,
                                  [&](index_t k, T x) { panel[k * kLane<T> + lane] = x; });
            table.panel_half_norms(pairing, panel, depth_, panel + depth_ * kLane<T>);
          }
        });
      },
      X);
}

template <Real T>
PackedDense<T>::PackedDense(std::span<const T* const> panels, index_t depth,
                            std::span<const index_t> rows)
    : rows_(static_cast<index_t>(rows.size())), depth_(depth) {
  data_ = AlignedBuffer<T>::zeros(n_panels() * panel_size(depth));
  for (index_t i = 0; i < rows_; ++i) {
    const T* from = panels[rows[i] / kLane<T>] + rows[i] % kLane<T>;
    T* to = data_.data() + i / kLane<T> * panel_size(depth) + i % kLane<T>;
    for (index_t k = 0; k <= depth; ++k) to[k * kLane<T>] = from[k * kLane<T>];
  }
}

// Calls fill(row, place in its tile, height of the tile, half norm) for every row.
template <Real T> std::vector<const T*> PackedDense<T>::panels() const {
  std::vector<const T*> panels;
  for (index_t p = 0; p < n_panels(); ++p) panels.push_back(panel(p));
  return panels;
}

template <Real T>
template <class Fill>
void DenseQueries<T>::fill_tiles(index_t n_rows, index_t depth, index_t tile_rows,
                                 const Fill& fill) {
  rows_ = n_rows;
  depth_ = depth;
  const index_t padded = round_up(rows_, tile_rows);
  values_.resize_discard(padded * depth);
  half_norms_.resize_discard(padded);
  for (index_t first = 0; first < rows_; first += tile_rows) {
    const index_t used = std::min(tile_rows, rows_ - first);
    const index_t height = simd::tile_height(used, tile_rows);
    T* tile = values_.data() + first * depth;
    if (used < height) std::fill_n(tile, height * depth, T(0));
    for (index_t r = 0; r < height; ++r) {
      half_norms_[first + r] = 0;
      if (r < used) fill(first + r, tile + r, height, half_norms_[first + r]);
    }
  }
}

template <Real T>
void DenseQueries<T>::gather(std::span<const T* const> panels, index_t depth,
                             std::span<const index_t> rows, index_t tile_rows) {
  fill_tiles(static_cast<index_t>(rows.size()), depth, tile_rows,
             [&](index_t row, T* to, index_t height, T& half_norm) {
               const T* from = panels[rows[row] / kLane<T>] + rows[row] % kLane<T>;
               for (index_t k = 0; k < depth; ++k) to[k * height] = from[k * kLane<T>];
               half_norm = from[depth * kLane<T>];
             });
}

template <Real T>
void DenseQueries<T>::take_rows(std::span<const T* const> rows, index_t depth, index_t tile_rows) {
  fill_tiles(static_cast<index_t>(rows.size()), depth, tile_rows,
             [&](index_t row, T* to, index_t height, T&) {
               for (index_t k = 0; k < depth; ++k) to[k * height] = rows[row][k];
             });
}

template <Real T>
void DenseQueries<T>::describe(index_t first, index_t n, std::span<const T* const> panels,
                               simd::DenseBlock<T>& block) const {
  block.queries = values_.data() + first * depth_;
  block.query_half_norms = half_norms_.data() + first;
  block.n_queries = n;
  block.depth = depth_;
  block.panels = panels.data();
  block.n_panels = static_cast<index_t>(panels.size());
}

template class PackedDense<float>;
template class PackedDense<double>;
template class DenseQueries<float>;
template class DenseQueries<double>;

} // namespace maxmargin
