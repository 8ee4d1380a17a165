#pragma once

#include "base/aligned_buffer.hpp"

#include <vector>

namespace maxmargin {

// The Cholesky factor of a symmetric matrix K + ridge I, and solutions of (K + ridge I) x = b.
class Cholesky {
 public:
  // Factors the n x n matrix whose row i begins at matrix + i * stride; only the lower triangle is
  // read. A pivot that is not above the ridge ends the work: returns false, and solve() must not be
  // called.
  bool factor(const double* matrix, index_t n, index_t stride, double ridge);

  // b becomes x. Requires b.size() == n.
  void solve(std::vector<double>& b) const;

 private:
  bool factor_diagonal(index_t first, index_t size, double ridge);
  void solve_below(index_t first, index_t size);
  void update_trailing(index_t first, index_t size);
  double& at(index_t i, index_t j) { return factor_[i * stride_ + j]; }
  double at(index_t i, index_t j) const { return factor_[i * stride_ + j]; }

  index_t n_ = 0;
  index_t stride_ = 0;
  AlignedBuffer<double> factor_; // lower triangle, row by row
  AlignedBuffer<double> products_;
};

} // namespace maxmargin
