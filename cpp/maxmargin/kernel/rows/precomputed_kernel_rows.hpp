#pragma once

#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_rows.hpp"

#include <vector>

namespace maxmargin {

// Kernel rows out of a kernel matrix that the caller has computed: sample i's values with all
// samples stand in row i of the matrix, which must outlive this.
template <Real T> class PrecomputedKernelRows final : public KernelRows<T> {
 public:
  // Column c is sample sample_of[c]; as many as fill a line.
  PrecomputedKernelRows(const MatrixView& matrix, std::vector<index_t> sample_of);

  void gather(std::span<const index_t> rows) override;
  void evaluate(index_t first, index_t n, index_t begin, index_t end, T* const* out,
                int thread) override;
  void square(T* out, index_t stride, int threads, Control& control) override;
  std::unique_ptr<KernelRows<T>> restricted(std::span<const index_t> columns) const override;

 private:
  void copy(index_t sample, std::span<const index_t> samples, T* out); // counts as computing

  const MatrixView& matrix_;
  std::vector<index_t> sample_of_;
  std::vector<index_t> queries_; // samples
};

} // namespace maxmargin
