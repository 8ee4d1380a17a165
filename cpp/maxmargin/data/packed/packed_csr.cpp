#include "maxmargin/data/packed/packed_csr.hpp"

#include "maxmargin/base/parallel.hpp"

#include <algorithm>
#include <utility>

namespace maxmargin {
namespace {

constexpr double kWorkOfElement = 4.0; // multiplications that packing one takes as long as
constexpr std::size_t kRowsPerPoll = 64;

// Calls visit(x, z) with the numbers of two rows, of which one may be 0, at every feature of either.
template <Real T, class Visit>
void meet_rows(const SparseRows<T>& a, index_t i, const SparseRows<T>& b, index_t j,
               const Visit& visit) {
  std::int64_t e = a.indptr[i], f = b.indptr[j];
  const std::int64_t e_end = a.indptr[i + 1], f_end = b.indptr[j + 1];
  while (e < e_end || f < f_end) {
    const bool has_x = f == f_end || (e < e_end && a.indices[e] <= b.indices[f]);
    const bool has_z = e == e_end || (f < f_end && b.indices[f] <= a.indices[e]);
    visit(has_x ? a.values[e] : T(0), has_z ? b.values[f] : T(0));
    e += has_x;
    f += has_z;
  }
}

} // namespace

template <Real T>
PackedCsr<T>::PackedCsr(const MatrixView& X, std::span<const index_t> rows, const Scaling& scaling,
                        simd::Pairing pairing, const FeatureOrder& order,
                        const simd::RealTable<T>& table, int threads, Control& control)
    : pairing_(pairing), n_head_(order.n_head()) {
  const auto n = static_cast<index_t>(rows.size());
  const double share = static_cast<double>(n) / std::max(1.0, static_cast<double>(n_rows(X)));
  threads = thread_count_for(threads, kWorkOfElement * share * static_cast<double>(n_stored(X)));
  if (threads == 1) {
    append(X, rows, scaling, order, table, control);
    return;
  }
  std::vector<PackedCsr> parts(static_cast<std::size_t>(threads));
  parallel_for(threads, threads, [&](index_t p, int) {
    const index_t begin = p * n / threads, end = (p + 1) * n / threads;
    parts[p] =
        PackedCsr(X, rows.subspan(begin, end - begin), scaling, pairing, order, table, 1, control);
  });
  for (PackedCsr& part : parts) append(std::exchange(part, {}));
}

template <Real T>
void PackedCsr<T>::assign(const MatrixView& X, std::span<const index_t> rows,
                          const Scaling& scaling, simd::Pairing pairing, const FeatureOrder& order,
                          const simd::RealTable<T>& table, Control& control) {
  pairing_ = pairing;
  n_head_ = order.n_head();
  for (SparseRows<T>* part : {&head_, &tail_, &wide_}) part->clear();
  half_norms_.clear();
  append(X, rows, scaling, order, table, control);
}

template <Real T>
void PackedCsr<T>::append(const MatrixView& X, std::span<const index_t> rows,
                          const Scaling& scaling, const FeatureOrder& order,
                          const simd::RealTable<T>& table, Control& control) {
  half_norms_.reserve(rows.size());
  std::visit(
      [&](const auto& view) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
          if (r % kRowsPerPoll == kRowsPerPoll - 1) control.poll();
          for_each_feature<double>(view, rows[r], scaling, [&](index_t k, double value) {
            const T x = rounded<T>(value);
            if (x == T(0)) return;
            if (const std::int32_t w = order.wide(k); w >= 0) return wide_.push_back(w, x);
            const std::int32_t feature = order(k);
            (feature < order.n_head() ? head_ : tail_).push_back(feature, x);
          });
          head_.end_row();
          tail_.end_row();
          wide_.end_row();
          const auto i = static_cast<index_t>(r);
          half_norms_.push_back(table.sparse_half_norm(pairing_, head_.row_values(i),
                                                       head_.row_size(i), tail_.row_values(i),
                                                       tail_.row_size(i)));
        }
      },
      X);
}

template <Real T> void PackedCsr<T>::append(const PackedCsr& further) {
  head_.append(further.head_);
  tail_.append(further.tail_);
  wide_.append(further.wide_);
  half_norms_.insert(half_norms_.end(), further.half_norms_.begin(), further.half_norms_.end());
}

template <Real T>
void PackedCsr<T>::describe(std::span<const index_t> rows, simd::SparseBlock<T>& block) const {
  block.values = head_.values.data();
  block.indices = head_.indices.data();
  block.indptr = head_.indptr.data();
  block.half_norms = half_norms_.data();
  block.rows = rows.data();
  block.n_rows = static_cast<index_t>(rows.size());
}

template <Real T>
void TailIndex<T>::build(const PackedCsr<T>& samples, std::span<const index_t> columns) {
  for (const std::int32_t k : used_) number_[k] = 0;
  used_.clear();
  begin_.assign(2, 0);
  const SparseRows<T>& tail = samples.tail();
  const index_t n_columns = static_cast<index_t>(columns.size());
  // visit(column, entry of the samples)
  const auto for_each_entry = [&](const auto& visit) {
    for (index_t c = 0; c < n_columns; ++c)
      for (std::int64_t e = tail.indptr[columns[c]]; e < tail.indptr[columns[c] + 1]; ++e)
        visit(c, e);
  };
  for_each_entry([&](index_t, std::int64_t e) {
    const std::int32_t k = tail.indices[e];
    if (static_cast<std::size_t>(k) >= number_.size()) number_.resize(k + 1, 0);
    if (number_[k] == 0) {
      used_.push_back(k);
      number_[k] = static_cast<std::int32_t>(used_.size());
      begin_.push_back(0);
    }
    ++begin_[number_[k] + 1];
  });
  for (std::size_t k = 2; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
  columns_.resize(static_cast<std::size_t>(begin_.back()));
  values_.resize(columns_.size());
  // List k fills up from begin_[k], which ends where list k + 1 begins.
  for_each_entry([&](index_t c, std::int64_t e) {
    const index_t at = begin_[number_[tail.indices[e]]]++;
    columns_[at] = static_cast<std::int32_t>(c);
    values_[at] = tail.values[e];
  });
}

template <Real T> typename TailIndex<T>::List TailIndex<T>::list(std::int32_t feature) const {
  const auto k = static_cast<std::size_t>(feature);
  if (k >= number_.size() || number_[k] == 0) return {};
  const auto begin = begin_[number_[k] - 1], end = begin_[number_[k]];
  return {std::span(columns_).subspan(begin, end - begin), values_.data() + begin};
}

template <Real T>
void QueryTable<T>::set(const PackedCsr<T>& source, std::span<const index_t> rows,
                        const TailIndex<T>& index) {
  pairing_ = source.pairing();
  const index_t size = source.n_head() * kQueries;
  if (lines_.size() != size)
    lines_ = AlignedBuffer<T>::zeros(size);
  else if (static_cast<index_t>(used_.size()) > source.n_head()) // a line may be used many times
    std::fill_n(lines_.data(), size, T(0));
  else
    for (const std::int32_t k : used_) std::fill_n(lines_.data() + k * kQueries, kQueries, T(0));
  used_.clear();
  std::fill_n(half_norms_, kQueries, T(0));
  n_queries_ = static_cast<index_t>(rows.size());
  for (std::size_t q = 0; q < rows.size(); ++q) {
    const SparseRows<T>& head = source.head();
    for (std::int64_t e = head.indptr[rows[q]]; e < head.indptr[rows[q] + 1]; ++e) {
      const std::int32_t k = head.indices[e];
      used_.push_back(k);
      lines_[k * kQueries + static_cast<index_t>(q)] = head.values[e];
    }
    half_norms_[q] = source.half_norm(rows[q]);
  }
  wide_.clear();
  for (const index_t row : rows) wide_.append_row(source.wide(), row);
  cursors_.clear();
  has_tail_ = has_both_ = false;
  const SparseRows<T>& tail = source.tail();
  for (std::size_t q = 0; q < rows.size(); ++q)
    for (std::int64_t e = tail.indptr[rows[q]]; e < tail.indptr[rows[q] + 1]; ++e) {
      const auto list = index.list(tail.indices[e]);
      if (!list.columns.empty())
        cursors_.push_back({list.columns.data(), list.values,
                            static_cast<std::int32_t>(list.columns.size()),
                            static_cast<std::int32_t>(q), tail.values[e]});
    }
}

template <Real T>
void QueryTable<T>::meet_tail(const PackedCsr<T>& samples, std::span<const index_t> columns,
                              index_t begin, index_t end, const simd::Epilogue<T>& epilogue,
                              const simd::RealTable<T>& table) {
  has_tail_ = true;
  has_both_ = epilogue.of_exponentials != pairing_;
  tail_.resize_discard((end - begin) * kQueries);
  std::fill_n(tail_.data(), tail_.size(), T(0));
  const auto first = static_cast<std::int32_t>(begin), last = static_cast<std::int32_t>(end);
  std::size_t n_left = 0;
  for (Cursor cursor : cursors_) {
    const auto advance = [&](index_t by) {
      cursor.columns += by;
      cursor.values += by;
      cursor.n -= static_cast<std::int32_t>(by);
    };
    if (*cursor.columns < first)
      advance(std::lower_bound(cursor.columns, cursor.columns + cursor.n, first) - cursor.columns);
    advance(table.scatter(pairing_, cursor.x, cursor.values, cursor.columns, cursor.n, first, last,
                          tail_.data() + cursor.query));
    if (cursor.n > 0) cursors_[n_left++] = cursor;
  }
  cursors_.resize(n_left);
  if (has_both_) {
    exponential_tail_.resize_discard(tail_.size());
    std::copy_n(tail_.data(), tail_.size(), exponential_tail_.data());
  }
  if (samples.wide().values.empty()) return;
  T* const of_exponentials = has_both_ ? exponential_tail_.data() : tail_.data();
  const simd::Pairing differences = simd::differences_of(pairing_);
  // A distance is so many times what products less half norms are.
  const T share = pairing_ == simd::Pairing::harmonic ? T(0.25) : T(0.5);
  for (index_t c = begin; c < end; ++c)
    for (index_t q = 0; q < n_queries_; ++q) {
      T products = 0, distance = 0;
      meet_rows(wide_, q, samples.wide(), columns[c], [&](T x, T z) {
        distance += simd::paired(differences, x, z);
        if (has_both_) products += simd::paired(pairing_, x, z);
      });
      const index_t at = (c - begin) * kQueries + q;
      of_exponentials[at] += share * distance;
      if (has_both_) tail_[at] += products;
    }
}

template <Real T> void QueryTable<T>::describe(simd::SparseBlock<T>& block) const {
  block.table = lines_.data();
  block.tail = has_tail_ ? tail_.data() : nullptr;
  block.exponential_tail = has_both_ ? exponential_tail_.data() : nullptr;
  block.query_half_norms = half_norms_;
  block.n_queries = n_queries_;
}

template class PackedCsr<float>;
template class PackedCsr<double>;
template class TailIndex<float>;
template class TailIndex<double>;
template class QueryTable<float>;
template class QueryTable<double>;

} // namespace maxmargin
