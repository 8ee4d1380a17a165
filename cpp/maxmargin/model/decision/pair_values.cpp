#include "maxmargin/model/decision/pair_values.hpp"

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/random.hpp"

#include <algorithm>
#include <numeric>

namespace maxmargin {
namespace {

// The packing by class pads each to a line of eight, and takes all coefficients of a class at once:
// from about so many support vectors a class on it is the faster one.
constexpr index_t kFewVectors = 8;
constexpr index_t kManyClasses = 32;

// Rows whose sums stay in registers, and where no more are asked for.
constexpr index_t kBlockRows = 16, kFewRows = 4;

// One for every support vector, and copies of the last to the end of the line.
std::vector<index_t> columns_of(index_t n_vectors) {
  std::vector<index_t> columns = identity_order(n_vectors);
  if (n_vectors > 0)
    columns.resize(static_cast<std::size_t>(round_up(n_vectors, kLane<double>)), n_vectors - 1);
  return columns;
}

} // namespace

bool PairValues::serves(const KernelModelParts& parts) {
  return is_classifier(parts.type) && parts.n_classes() >= kManyClasses &&
         parts.n_support_vectors() <= kFewVectors * parts.n_classes();
}

PairValues::PairValues(const KernelModelParts& parts, Control& control)
    : dual_coef_(parts.dual_coef), rho_(parts.rho), begin_(parts.n_support.size() + 1, 0),
      kernel_(view_of(parts.support_vectors), columns_of(parts.n_support_vectors()), parts.kernel,
              control) {
  std::partial_sum(parts.n_support.begin(), parts.n_support.end(), begin_.begin() + 1);
}

void PairValues::evaluate(const MatrixView& X, std::span<const double> factors, double* out,
                          int threads, Control& control) const {
  if (n_rows(X) <= kFewRows)
    evaluate_in_blocks<kFewRows>(X, factors, out, threads, control);
  else
    evaluate_in_blocks<kBlockRows>(X, factors, out, threads, control);
}

void PairValues::evaluate_row(const MatrixView& X, std::span<const double> factors, double* out,
                              RowWorkspace& work) const {
  const index_t n_classes = std::ssize(begin_) - 1;
  work.values.resize_discard(round_up(begin_.back(), kLane<double>));
  kernel_.for_row(X, factors, work.in_float64,
                  [&](const double* values, index_t begin, index_t end) {
                    std::copy(values, values + (end - begin), work.values.data() + begin);
                  });
  for (index_t i = 0; i < n_classes; ++i) add_class<1>(i, work.values.data(), 1, out);
}

template <index_t kRows>
void PairValues::evaluate_in_blocks(const MatrixView& X, std::span<const double> factors,
                                    double* out, int threads, Control& control) const {
  const index_t n_classes = std::ssize(begin_) - 1, n_vectors = begin_.back();
  const index_t n_blocks = (n_rows(X) + kRows - 1) / kRows, block_size = n_vectors * kRows;
  // By block of rows, then support vector, then row.
  auto values = AlignedBuffer<double>::zeros(n_blocks * block_size);
  kernel_.for_blocks(X, factors, threads, control,
                     [&](const CrossKernel<double>::Block& block, int) {
                       for (std::size_t r = 0; r < block.values.size(); ++r) {
                         const index_t row = block.first_row + static_cast<index_t>(r);
                         double* to = values.data() + row / kRows * block_size + row % kRows;
                         for (index_t v = block.begin; v < std::min(block.end, n_vectors); ++v)
                           to[v * kRows] = block.values[r][v - block.begin];
                       }
                     });
  const double work = static_cast<double>(n_blocks * block_size * n_classes);
  parallel_for(n_blocks * n_classes, thread_count_for(threads, work), [&](index_t task, int) {
    control.poll();
    const index_t block = task / n_classes, first = block * kRows;
    add_class<kRows>(task % n_classes, values.data() + block * block_size,
                     std::min(kRows, n_rows(X) - first), out + first * std::ssize(rho_));
  });
}

// The values of the machines of class i with those after it.
template <index_t kRows>
void PairValues::add_class(index_t i, const double* values, index_t n_rows, double* out) const {
  const index_t n_classes = std::ssize(begin_) - 1, n_vectors = begin_.back();
  for (index_t j = i + 1; j < n_classes; ++j) {
    const index_t machine = machine_of(i, j, n_classes);
    double sums[kRows];
    std::fill_n(sums, kRows, -rho_[machine]);
    const auto add = [&](index_t own, index_t other) {
      const double* coef = dual_coef_.data() + coef_row(own, other) * n_vectors;
      for (index_t v = begin_[own]; v < begin_[own + 1]; ++v)
        for (index_t r = 0; r < kRows; ++r) sums[r] += coef[v] * values[v * kRows + r];
    };
    add(i, j);
    add(j, i);
    for (index_t r = 0; r < n_rows; ++r) out[r * std::ssize(rho_) + machine] = sums[r];
  }
}

} // namespace maxmargin
