#pragma once

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/control.hpp"
#include "maxmargin/data/sample_rows.hpp"

#include <span>
#include <type_traits>
#include <variant>
#include <vector>

namespace maxmargin {

// Sparse rows in as few bytes as hold them exactly: columns of type I and values of type V, or no
// values where all are the same number.
struct SameValue {};

template <class V, class I> class CompactRows {
 public:
  static constexpr bool has_values = !std::is_same_v<V, SameValue>;

  double dot(index_t i, const double* w) const {
    const I* columns = columns_.data();
    const double total =
        sum_of(begins_[i], begins_[i + 1], [&](index_t e) { return term(e, w[columns[e]]); });
    return has_values ? total : value_ * total;
  }

  void add(index_t i, double a, double* w) const {
    if constexpr (!has_values) a *= value_;
    for (index_t e = begins_[i]; e < begins_[i + 1]; ++e) w[columns_[e]] += term(e, a);
  }

  // Calls visit(j, value) for every column that has a value in row i.
  template <class Visit> void for_elements(index_t i, const Visit& visit) const {
    for (index_t e = begins_[i]; e < begins_[i + 1]; ++e)
      visit(static_cast<index_t>(columns_[e]), term(e, has_values ? 1.0 : value_));
  }

  double square_norm(index_t i) const {
    if constexpr (has_values) {
      return sum_of_squares(std::span<const V>(values_.data() + begins_[i], size(i)));
    } else {
      return static_cast<double>(size(i)) * value_ * value_;
    }
  }

  void fetch(index_t i) const {
    prefetch_row(columns_.data() + begins_[i], size(i) * sizeof(I));
    if constexpr (has_values) prefetch_row(values_.data() + begins_[i], size(i) * sizeof(V));
  }

 private:
  friend class CompactSamples;

  double term(index_t e, double factor) const {
    if constexpr (has_values)
      return static_cast<double>(values_[e]) * factor;
    else
      return factor;
  }
  std::size_t size(index_t i) const {
    return static_cast<std::size_t>(begins_[i + 1] - begins_[i]);
  }

  std::vector<index_t> begins_;
  AlignedBuffer<I> columns_;
  AlignedBuffer<V> values_;
  double value_ = 1.0;
};

// The rows of samples of any type, which is found out at every call; visit() finds it out once for
// many. The samples must outlive this.
class AnyRows {
 public:
  explicit AnyRows(const MatrixView& X)
      : rows_(std::visit([](const auto& view) { return Variant(rows_of(view)); }, X)) {}
  template <class V, class I> explicit AnyRows(const CompactRows<V, I>& rows) : rows_(&rows) {}

  // Calls use(rows).
  template <class Use> decltype(auto) visit(const Use& use) const {
    return std::visit(
        [&](const auto& rows) -> decltype(auto) {
          if constexpr (std::is_pointer_v<std::decay_t<decltype(rows)>>)
            return use(*rows);
          else
            return use(rows);
        },
        rows_);
  }

  bool is_sparse() const {
    return visit([](const auto& rows) { return has_elements<std::decay_t<decltype(rows)>>; });
  }
  double dot(index_t i, const double* w) const {
    return visit([&](const auto& rows) { return rows.dot(i, w); });
  }
  void add(index_t i, double a, double* w) const {
    visit([&](const auto& rows) { rows.add(i, a, w); });
  }
  double square_norm(index_t i) const {
    return visit([&](const auto& rows) { return rows.square_norm(i); });
  }
  void fetch(index_t i) const {
    visit([&](const auto& rows) { rows.fetch(i); });
  }

  // Whether rows have for_elements(), as sparse ones do.
  template <class Rows>
  static constexpr bool has_elements =
      requires(const Rows& rows) { rows.for_elements(index_t{}, [](index_t, double) {}); };

 private:
  using Variant = std::variant<
      DenseRows<float>, DenseRows<double>, CsrRows<float, std::int32_t>,
      CsrRows<float, std::int64_t>, CsrRows<double, std::int32_t>, CsrRows<double, std::int64_t>,
      const CompactRows<float, std::int32_t>*, const CompactRows<double, std::int32_t>*,
      const CompactRows<SameValue, std::uint16_t>*, const CompactRows<SameValue, std::int32_t>*>;
  Variant rows_;
};

// Samples as a method reads them that passes over their rows many times, in any order. Those that
// are mostly zero, however they are stored, are copied: features that no sample has are left out,
// and the others renumbered by falling frequency, so that most of the weights that a row touches
// lie close together. Others stay where the caller has them, who keeps them alive.
class CompactSamples {
 public:
  // Copies on so many threads; 0: all that may be used.
  CompactSamples(const MatrixView& X, int threads, Control& control);

  index_t n_features() const { return n_features_; }

  // Whether the samples are mostly zero.
  bool is_sparse() const { return !std::holds_alternative<MatrixView>(rows_); }

  AnyRows rows() const {
    return std::visit([](const auto& rows) { return AnyRows(rows); }, rows_);
  }

  // Weights by the caller's features.
  AlignedVector<double> original(const AlignedVector<double>& w) const;

  // Elements read in a row, on the average.
  index_t row_elements() const { return row_elements_; }

 private:
  template <class View> void compact(const View& X, Control& control);
  template <class V, class I, class View>
  void copy(const View& X, std::vector<index_t> begins, double value, Control& control);

  std::variant<MatrixView, CompactRows<float, std::int32_t>, CompactRows<double, std::int32_t>,
               CompactRows<SameValue, std::uint16_t>, CompactRows<SameValue, std::int32_t>>
      rows_;
  std::vector<std::int32_t> number_; // of every feature; empty: their own
  index_t n_features_ = 0;
  index_t row_elements_ = 0;
  int threads_;
};

} // namespace maxmargin
