#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/data/packed/feature_order.hpp"
#include "maxmargin/data/scaling.hpp"
#include "maxmargin/simd/kernel_table.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// Rows of non-zero values with their feature numbers.
template <Real T> struct SparseRows {
  std::vector<T> values;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> indptr{0};

  index_t row_size(index_t i) const { return indptr[i + 1] - indptr[i]; }
  void push_back(std::int32_t feature, T value) {
    indices.push_back(feature);
    values.push_back(value);
  }
  void end_row() { indptr.push_back(static_cast<std::int64_t>(values.size())); }
  void clear() {
    values.clear();
    indices.clear();
    indptr.resize(1);
  }
  // Copies row i.
  void append_row(const SparseRows& from, index_t i) {
    for (std::int64_t e = from.indptr[i]; e < from.indptr[i + 1]; ++e)
      push_back(from.indices[e], from.values[e]);
    end_row();
  }
  void append(const SparseRows& further) {
    const auto offset = static_cast<std::int64_t>(values.size());
    values.insert(values.end(), further.values.begin(), further.values.end());
    indices.insert(indices.end(), further.indices.begin(), further.indices.end());
    for (std::size_t i = 1; i < further.indptr.size(); ++i)
      indptr.push_back(offset + further.indptr[i]);
  }
  const T* row_values(index_t i) const { return values.data() + indptr[i]; }
};

// Samples in the form that sparse_block reads, in the solver's type, with half norms. Head
// and tail lie apart, since every product reads the one and few the other; so do wide features,
// which half norms leave out.
template <Real T> class PackedCsr {
 public:
  PackedCsr() = default;
  PackedCsr(const MatrixView& X, std::span<const index_t> rows, const Scaling& scaling,
            simd::Pairing pairing, const FeatureOrder& order, const simd::RealTable<T>& table,
            int threads, Control& control);

  // The same on one thread, in memory that is there where it suffices.
  void assign(const MatrixView& X, std::span<const index_t> rows, const Scaling& scaling,
              simd::Pairing pairing, const FeatureOrder& order, const simd::RealTable<T>& table,
              Control& control);

  index_t rows() const { return static_cast<index_t>(half_norms_.size()); }
  index_t n_head() const { return n_head_; } // features
  const SparseRows<T>& head() const { return head_; }
  const SparseRows<T>& tail() const { return tail_; }
  const SparseRows<T>& wide() const { return wide_; }
  // Whether products have parts that sparse_block does not find in the head.
  bool has_tail() const { return !tail_.values.empty() || !wide_.values.empty(); }
  simd::Pairing pairing() const { return pairing_; }
  T half_norm(index_t i) const { return half_norms_[i]; }
  index_t row_size(index_t i) const {
    return head_.row_size(i) + tail_.row_size(i) + wide_.row_size(i);
  }

  // Fills in the side of the block that these samples are, for the given rows of them.
  void describe(std::span<const index_t> rows, simd::SparseBlock<T>& block) const;

 private:
  void append(const MatrixView& X, std::span<const index_t> rows, const Scaling& scaling,
              const FeatureOrder& order, const simd::RealTable<T>& table, Control& control);
  void append(const PackedCsr& further);

  simd::Pairing pairing_ = simd::Pairing::multiply;
  index_t n_head_ = 0;
  SparseRows<T> head_;
  SparseRows<T> tail_;
  SparseRows<T> wide_;
  std::vector<T> half_norms_;
};

// For every feature of the tail, the samples that have it: the inverted index of some rows of the
// data, which are numbered as columns from 0.
template <Real T> class TailIndex {
 public:
  void build(const PackedCsr<T>& samples, std::span<const index_t> columns);

  struct List {
    std::span<const std::int32_t> columns; // ascending
    const T* values;
  };
  List list(std::int32_t feature) const;

 private:
  std::vector<std::int32_t> number_; // of a feature's list; 0 for none
  std::vector<std::int32_t> used_;   // the features that have a list
  std::vector<index_t> begin_;       // of list k in the arrays below
  std::vector<std::int32_t> columns_;
  std::vector<T> values_;
};

// A few queries spread out as dense columns: a line holds their values at one feature of the head.
// Clearing it costs only the features that are set.
template <Real T> class QueryTable {
 public:
  static constexpr index_t kQueries = simd::kSparseQueries<T>;

  // Requires rows.size() <= kQueries. Where the samples have a tail, `index` is that of the
  // columns.
  void set(const PackedCsr<T>& source, std::span<const index_t> rows, const TailIndex<T>& index);

  // Adds up what the tails and the wide features of the queries and of the columns from `begin` up
  // to `end` contribute; column c is row columns[c] of the samples. Since set(), `begin` may not
  // fall.
  void meet_tail(const PackedCsr<T>& samples, std::span<const index_t> columns, index_t begin,
                 index_t end, const simd::Epilogue<T>& epilogue, const simd::RealTable<T>& table);

  // Fills in the query side of the block.
  void describe(simd::SparseBlock<T>& block) const;

 private:
  // What is left of a list that a feature of a query has.
  struct Cursor {
    const std::int32_t* columns;
    const T* values;
    std::int32_t n;
    std::int32_t query;
    T x; // the query's value
  };

  simd::Pairing pairing_ = simd::Pairing::multiply;
  AlignedBuffer<T> lines_;
  std::vector<std::int32_t> used_; // features
  std::vector<Cursor> cursors_;
  SparseRows<T> wide_;
  AlignedBuffer<T> tail_, exponential_tail_;
  bool has_tail_ = false, has_both_ = false;
  index_t n_queries_ = 0;
  alignas(kAlignment) T half_norms_[kQueries] = {};
};

} // namespace maxmargin
