#pragma once

#include "maxmargin/data/packed/packed_dense.hpp"
#include "maxmargin/kernel/kernel_rows.hpp"
#include "maxmargin/kernel/sample_factors.hpp"

#include <vector>

namespace maxmargin {

// Kernel rows over dense panels: register tiles of products (simd/block.inc.hpp).
template <Real T> class DenseKernelRows final : public KernelRows<T> {
 public:
  // The panels must outlive this; the factors are those of their rows.
  DenseKernelRows(std::vector<const T*> panels, index_t depth, const simd::Epilogue<T>& epilogue,
                  SampleFactors<T> factors);

  void gather(std::span<const index_t> rows) override;
  void evaluate(index_t first, index_t n, index_t begin, index_t end, T* const* out,
                int thread) override;
  void square(T* out, index_t stride, int threads, Control& control) override;
  std::unique_ptr<KernelRows<T>> restricted(std::span<const index_t> columns) const override;

 private:
  DenseKernelRows(PackedDense<T> panels, const simd::Epilogue<T>& epilogue,
                  SampleFactors<T> factors);
  // What is about to be computed, and counts as computed.
  simd::DenseBlock<T> block(index_t first, index_t n, std::span<const T* const> panels,
                            simd::Factors<T> factors, T* const* out);

  PackedDense<T> owned_;
  std::vector<const T*> panels_;
  index_t depth_;
  simd::Epilogue<T> epilogue_;
  SampleFactors<T> factors_;
  const simd::RealTable<T>& table_;
  std::vector<index_t> rows_;
  DenseQueries<T> queries_;
  SampleFactors<T> query_factors_;
};

} // namespace maxmargin
