#pragma once

#include "maxmargin/base/aligned_buffer.hpp"

#include <span>
#include <vector>

namespace maxmargin::optim {

// The Cholesky factor of a symmetric matrix K + ridge I, and solutions of (K + ridge I) x = b.
class Cholesky {
 public:
  // Factors the n x n matrix whose row i begins at matrix + i * stride; only the lower triangle is
  // read. A pivot that is not above the ridge ends the work: returns false, and solve() must not be
  // called.
  bool factor(const double* matrix, index_t n, index_t stride, double ridge, int threads = 1);

  // b becomes x. Requires b.size() == n.
  void solve(std::vector<double>& b) const;
  // Every b becomes its x, as by itself; the factor is read once for several.
  void solve(std::span<std::vector<double>> bs, int threads) const;

 private:
  bool factor_diagonal(index_t first, index_t size, double ridge);
  void solve_below(index_t first, index_t size, int threads);
  void update_trailing(index_t first, index_t size, int threads);
  void solve_together(std::span<std::vector<double>> bs) const;
  double& at(index_t i, index_t j) { return factor_[i * stride_ + j]; }
  double at(index_t i, index_t j) const { return factor_[i * stride_ + j]; }

  index_t n_ = 0;
  index_t stride_ = 0;
  AlignedBuffer<double> factor_;                // lower triangle, row by row
  std::vector<AlignedBuffer<double>> products_; // by thread
};

} // namespace maxmargin::optim
