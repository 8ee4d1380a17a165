#include "maxmargin/optim/cholesky.hpp"

#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/random.hpp"
#include "maxmargin/data/packed/packed_dense.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::optim {
namespace {

constexpr index_t kBlock = 64;      // columns factored at a time; the rest is products of blocks
constexpr index_t kRowsAtOnce = 32; // of the triangle below them, by one thread

} // namespace

bool Cholesky::factor(const double* matrix, index_t n, index_t stride, double ridge, int threads) {
  n_ = n;
  stride_ = row_stride<double>(n);
  factor_.resize_discard(n * stride_);
  for (index_t i = 0; i < n; ++i) {
    std::copy_n(matrix + i * stride, i + 1, factor_.data() + i * stride_);
    at(i, i) += ridge;
  }
  for (index_t first = 0; first < n; first += kBlock) {
    const index_t size = std::min(kBlock, n - first);
    if (!factor_diagonal(first, size, ridge)) return false;
    const double below = static_cast<double>(n - first - size);
    const int team = thread_count_for(threads, below * below * static_cast<double>(size));
    solve_below(first, size, team);
    update_trailing(first, size, team);
  }
  return true;
}

bool Cholesky::factor_diagonal(index_t first, index_t size, double ridge) {
  for (index_t i = first; i < first + size; ++i)
    for (index_t j = first; j <= i; ++j) {
      const double rest =
          at(i, j) - simd::active_table().f64.dot(&at(i, first), &at(j, first), j - first);
      if (i != j)
        at(i, j) = rest / at(j, j);
      else if (rest > ridge / 2)
        at(i, i) = std::sqrt(rest);
      else
        return false;
    }
  return true;
}

// The rows below the diagonal block: X L' = A.
void Cholesky::solve_below(index_t first, index_t size, int threads) {
  const index_t n_rows = n_ - first - size;
  parallel_ranges(n_rows, kRowsAtOnce, threads, [&](index_t begin, index_t end, int) {
    for (index_t i = first + size + begin; i < first + size + end; ++i)
      for (index_t j = first; j < first + size; ++j)
        at(i, j) =
            (at(i, j) - simd::active_table().f64.dot(&at(i, first), &at(j, first), j - first)) /
            at(j, j);
  });
}

// A -= X X' for the rows and columns after the block, by the kernel blocks of the linear kernel.
void Cholesky::update_trailing(index_t first, index_t size, int threads) {
  const index_t begin = first + size, n_rows = n_ - begin;
  if (n_rows == 0) return;
  std::vector<double> block(static_cast<std::size_t>(n_rows * size));
  for (index_t i = 0; i < n_rows; ++i)
    std::copy_n(&at(begin + i, first), size, block.data() + i * size);
  const PackedDense<double> packed(DenseView<double>{block.data(), n_rows, size},
                                   identity_order(n_rows), Scaling{}, simd::Pairing::multiply,
                                   simd::active_table().f64, 1);
  const std::vector<const double*> panels = packed.panels();
  DenseQueries<double> queries;
  queries.gather(panels, size, identity_order(n_rows), simd::active_table().f64.tile_rows);

  const index_t chunk = 4 * simd::active_table().f64.tile_rows;
  const index_t width = row_stride<double>(n_rows);
  products_.resize(static_cast<std::size_t>(threads));
  const index_t n_chunks = (n_rows + chunk - 1) / chunk;
  // The last rows, which are the longest, first.
  parallel_for(n_chunks, threads, [&](index_t task, int thread) {
    const index_t row = (n_chunks - 1 - task) * chunk;
    AlignedBuffer<double>& products = products_[thread];
    products.resize_discard(chunk * width);
    std::vector<double*> out;
    for (index_t r = 0; r < chunk; ++r) out.push_back(products.data() + r * width);
    const index_t n = std::min(chunk, n_rows - row);
    const index_t to_diagonal = round_up(row + n, kLane<double>) / kLane<double>;
    simd::DenseBlock<double> b;
    queries.describe(row, n, std::span(panels).first(to_diagonal), b);
    b.out = out.data();
    simd::active_table().f64.dense_block(b);
    for (index_t r = 0; r < n; ++r)
      simd::active_table().f64.axpy(-1.0, out[r], &at(begin + row + r, begin), row + r + 1);
  });
}

void Cholesky::solve(std::vector<double>& b) const {
  solve_together({&b, 1});
}

void Cholesky::solve(std::span<std::vector<double>> bs, int threads) const {
  const double products = static_cast<double>(n_) * static_cast<double>(n_);
  threads = thread_count_for(threads, products * static_cast<double>(bs.size()));
  const std::size_t n_parts = static_cast<std::size_t>(threads);
  parallel_for(threads, threads, [&](index_t part, int) {
    const std::size_t begin = static_cast<std::size_t>(part) * bs.size() / n_parts;
    const std::size_t end = static_cast<std::size_t>(part + 1) * bs.size() / n_parts;
    solve_together(bs.subspan(begin, end - begin));
  });
}

void Cholesky::solve_together(std::span<std::vector<double>> bs) const {
  for (index_t i = 0; i < n_; ++i)
    for (std::vector<double>& b : bs)
      b[i] = (b[i] - simd::active_table().f64.dot(factor_.data() + i * stride_, b.data(), i)) /
             at(i, i);
  for (index_t i = n_ - 1; i >= 0; --i)
    for (std::vector<double>& b : bs) {
      b[i] /= at(i, i);
      simd::active_table().f64.axpy(-b[i], factor_.data() + i * stride_, b.data(), i);
    }
}

} // namespace maxmargin::optim
