#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/data/packed/packed_csr.hpp"
#include "maxmargin/data/packed/packed_dense.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/kernel/packing.hpp"
#include "maxmargin/kernel/sample_factors.hpp"
#include "maxmargin/simd/kernel_table.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

namespace maxmargin {

// The kernel values of any samples with given others, which are packed once. Those of a sample do
// not depend on the other samples. Immutable, hence safe to use from many threads.
template <Real T> class CrossKernel {
 public:
  // Column c is row columns[c] of `others`; the factors of the kernel are theirs. Requires a
  // multiple of a line of columns. Samples are taken in units of the magnitude of the others, or of
  // 2^exponent if that is more: squares of ones that are 2^500 units overflow. The least unit is
  // small enough for others whose squares would vanish.
  CrossKernel(const MatrixView& others, std::span<const index_t> columns,
              const KernelParams& kernel, Control& control, int exponent = kLeastExponent);

  // values[r][c - begin] is that of row first_row + r and column c, for c from begin to end.
  struct Block {
    index_t first_row;
    std::span<const T* const> values;
    index_t begin, end;
  };
  using Use = std::function<void(const Block&, int thread)>;

  // Calls use() for all rows of X with all columns, block by block; with those of a row in the
  // order of the columns and on one thread. `factors` are what KernelParams::factors are of the
  // others. Requires as many features as the others have.
  void for_blocks(const MatrixView& X, std::span<const double> factors, int threads,
                  Control& control, const Use& use) const;

  // What the values of a few samples are made in.
  struct Workspace {
    AlignedBuffer<T> values;
    std::vector<T*> rows;
    DenseQueries<T> dense;
    PackedCsr<T> packed;
    QueryTable<T> sparse;
    SampleFactors<T> factors;
  };

  // Calls use(values, begin, end) for the sample that X is, in the order of the columns. No memory
  // is taken that the workspace has from samples with as many features, unless there are factors.
  template <class OfRow>
  void for_row(const MatrixView& X, std::span<const double> factors, Workspace& work,
               const OfRow& use) const {
    if (n_columns_ == 0) return;
    pack_row(X, factors, work);
    for (index_t begin = 0; begin < n_columns_; begin += kColumnChunk) {
      const index_t end = std::min(begin + kColumnChunk, n_columns_);
      evaluate(1, begin, end, work);
      use(work.rows.front(), begin, end);
    }
  }

  bool needs_float64() const { return packing_.needs_float64; }

 private:
  static constexpr int kLeastExponent = -340;
  static constexpr index_t kColumnChunk = 64 * kLane<T>; // columns evaluated at a time

  void make_room(index_t n_rows, Workspace& work) const;
  void pack_row(const MatrixView& X, std::span<const double> factors, Workspace& work) const;
  void pack(const MatrixView& X, std::span<const double> factors, index_t first, index_t n,
            Workspace& work, Control& control) const;
  void evaluate(index_t n, index_t begin, index_t end, Workspace& work) const;

  index_t n_columns_;
  index_t n_features_;
  index_t n_factors_;
  const simd::RealTable<T>& table_;
  double work_of_sample_ = 0.0; // multiplications that its values take as long as
  Packing packing_;
  simd::Epilogue<T> epilogue_;
  SampleFactors<T> factors_;
  PackedDense<T> dense_;
  std::vector<const T*> panels_;
  PackedCsr<T> csr_;
  TailIndex<T> tail_index_;
  std::vector<index_t> sparse_columns_;
};

// out[i * n_rows(B) + j] is the kernel value of row i of A, of which these are the factors, and row
// j of B, whose factors are those of the kernel.
MAXMARGIN_INSIDE void cross_values(const MatrixView& A, std::span<const double> factors,
                                   const MatrixView& B, const KernelParams& kernel, double* out,
                                   int threads, Control& control);

} // namespace maxmargin
