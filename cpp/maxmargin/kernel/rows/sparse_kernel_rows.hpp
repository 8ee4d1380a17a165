#pragma once

#include "maxmargin/data/packed/packed_csr.hpp"
#include "maxmargin/kernel/kernel_rows.hpp"
#include "maxmargin/kernel/sample_factors.hpp"

#include <vector>

namespace maxmargin {

// Kernel rows over sparse samples: a few queries spread out as dense columns against every sample's
// entries (simd/sparse_block.inc.hpp), and lists of samples for rare features.
template <Real T> class SparseKernelRows final : public KernelRows<T> {
 public:
  // `columns` are rows of `samples`, which must outlive this; the factors are those of the columns.
  SparseKernelRows(const PackedCsr<T>& samples, std::vector<index_t> columns, int threads,
                   const simd::Epilogue<T>& epilogue, SampleFactors<T> factors);

  void gather(std::span<const index_t> rows) override;
  void evaluate(index_t first, index_t n, index_t begin, index_t end, T* const* out,
                int thread) override;
  bool adds_directly() const override { return true; }
  void add(index_t first, index_t n, index_t begin, index_t end, const double* coef, double* out,
           int thread) override;
  void square(T* out, index_t stride, int threads, Control& control) override;
  std::unique_ptr<KernelRows<T>> restricted(std::span<const index_t> columns) const override;

 private:
  // What a thread has spread out: the queries from `first` on, whose tails have met the columns
  // before `reached`.
  struct Spread {
    QueryTable<T> table;
    index_t first = -1;
    index_t reached = 0;
  };

  QueryTable<T>& spread_out(index_t first, index_t n, const TailIndex<T>& index, int thread);
  // The queries from `first` on, which `table` holds, against the columns begin .. end - 1 of
  // `columns`, which have these factors; they count as computed.
  simd::SparseBlock<T> block(QueryTable<T>& table, index_t first, std::span<const index_t> columns,
                             const SampleFactors<T>& factors, index_t begin, index_t end);

  const PackedCsr<T>& samples_;
  std::vector<index_t> columns_;
  TailIndex<T> index_;
  TailIndex<T> square_index_;
  simd::Epilogue<T> epilogue_;
  SampleFactors<T> factors_;
  const simd::RealTable<T>& table_;
  std::vector<index_t> queries_;
  SampleFactors<T> query_factors_;
  std::vector<Spread> spread_; // by thread
};

} // namespace maxmargin
