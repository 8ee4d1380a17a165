#include "maxmargin/kernel/kernel_matrix.hpp"

#include "maxmargin/base/aligned_buffer.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/kernel/kernel_function.hpp"
#include "maxmargin/kernel/upper_triangle.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <map>

namespace maxmargin {
namespace {

// A cache that holds fewer rows than this would be emptied by a single gradient update.
constexpr index_t kFewestCachedRows = 64;

// A matrix that fits the processor's own caches is always kept.
constexpr index_t kCacheBytes = 8 * 1024 * 1024;

// Multiplications that a product takes as long as: blocks make more of them at a time than other
// loops. With 1, a fit of 1,000 samples of 10 features took 1.1 times as long as on one thread.
constexpr double kWorkOfProduct = 0.5;

constexpr index_t kGrain = 64; // columns, of which every thread takes whole multiples

} // namespace

template <Real T>
KernelMatrix<T>::KernelMatrix(std::unique_ptr<KernelRows<T>> rows, std::size_t cache_bytes,
                              int threads, Control& control, Variables variables, const T* stored)
    : rows_(std::move(rows)), variables_(variables), stored_(stored), cache_bytes_(cache_bytes),
      threads_(thread_count(threads)), control_(control), table_(simd::real_table<T>()) {
  open_cache();
}

template <Real T> void KernelMatrix<T>::open_cache() {
  if (cache_) {
    closed_hits_ += cache_->hits();
    closed_misses_ += cache_->misses();
    cache_.reset();
  }
  if (stored() != nullptr) return; // a cache already
  const bool fits_cache = n_columns() <= kCacheBytes / index_t{sizeof(T)} / n_columns();
  stores_rows_ = fits_cache || has_expensive_values();
  if (!stores_rows_) return;
  RowCache<T> cache(n_columns(), n_columns(), cache_bytes_);
  if (cache.capacity() >= std::min(kFewestCachedRows, n_columns()))
    cache_.emplace(std::move(cache));
}

template <Real T> std::size_t KernelMatrix<T>::cache_hits() const {
  return closed_hits_ + (cache_ ? cache_->hits() : 0);
}
template <Real T> std::size_t KernelMatrix<T>::cache_misses() const {
  return closed_misses_ + (cache_ ? cache_->misses() : 0);
}

template <Real T>
void KernelMatrix<T>::square(std::span<const index_t> rows, T* out, index_t stride) {
  const std::vector<index_t> columns = single(rows);
  const bool holds_all_rows = cache_ && cache_->capacity() >= n_columns();
  if (may_take_rows_ && has_expensive_values() && holds_all_rows) {
    square_from_rows(columns, out, stride);
  } else {
    rows_->gather(columns);
    rows_->square(out, stride, threads_for(rows.size(), static_cast<index_t>(rows.size())),
                  control_);
  }
}

// Rows that are kept lend their values; only those between the others are computed.
template <Real T>
void KernelMatrix<T>::square_from_rows(std::span<const index_t> columns, T* out, index_t stride) {
  const index_t n = static_cast<index_t>(columns.size());
  std::vector<const T*> kept;
  std::vector<index_t> place(columns.size(), -1), fresh; // among the fresh ones; their columns
  for (index_t k = 0; k < n; ++k) {
    kept.push_back(cache_->peek(columns[k]));
    if (kept[k] != nullptr) continue;
    place[k] = static_cast<index_t>(fresh.size());
    fresh.push_back(columns[k]);
  }
  const index_t n_fresh = static_cast<index_t>(fresh.size());
  const index_t width = row_stride<T>(n_fresh);
  AlignedBuffer<T> computed(n_fresh * width);
  if (n_fresh > 0) {
    rows_->gather(fresh);
    rows_->square(computed.data(), width, threads_for(fresh.size(), n_fresh), control_);
  }
  const int threads = threads_for(columns.size(), n);
  parallel_for(n, threads, [&](index_t r, int) {
    T* to = out + r * stride;
    for (index_t c = r; c < n; ++c)
      to[c] = kept[r] != nullptr   ? kept[r][columns[c]]
              : kept[c] != nullptr ? kept[c][columns[r]]
                                   : computed[place[r] * width + place[c]];
  });
  reflect_upper(n, out, stride, threads);
}

template <Real T> index_t KernelMatrix<T>::values_computed() const {
  return rows_->values_computed() + (whole_ ? whole_->values_computed() : 0) + closed_values_;
}

template <Real T>
std::vector<index_t> KernelMatrix<T>::single(std::span<const index_t> columns) const {
  std::vector<index_t> numbers(columns.begin(), columns.end());
  if (is_duplicated())
    for (index_t& c : numbers) c %= n_columns();
  return numbers;
}

template <Real T>
void KernelMatrix<T>::add_rows(std::span<const index_t> rows, std::span<const double> coef,
                               double* out, std::span<const char> will_return) {
  if (is_duplicated())
    add_duplicated(rows, coef, out, will_return);
  else
    add_single(rows, coef, out, will_return);
}

// The sum over the single rows, added to both halves.
template <Real T>
void KernelMatrix<T>::add_duplicated(std::span<const index_t> rows, std::span<const double> coef,
                                     double* out, std::span<const char> will_return) {
  struct Term {
    double coef = 0.0;
    char will_return = 0;
  };
  std::map<index_t, Term> terms;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    Term& term = terms[rows[k] % n_columns()];
    term.coef += coef[k];
    term.will_return |= will_return.empty() || will_return[k];
  }
  std::vector<index_t> some_rows;
  std::vector<double> some_coef;
  std::vector<char> some_return;
  for (const auto& [row, term] : terms) {
    if (term.coef == 0.0) continue;
    some_rows.push_back(row);
    some_coef.push_back(term.coef);
    some_return.push_back(term.will_return);
  }
  AlignedBuffer<double> sums = AlignedBuffer<double>::zeros(n_columns());
  add_single(some_rows, some_coef, sums.data(), some_return);
  for (index_t c = 0; c < n_columns(); ++c) {
    out[c] += sums[c];
    out[n_columns() + c] += sums[c];
  }
}

template <Real T>
void KernelMatrix<T>::add_single(std::span<const index_t> rows, std::span<const double> coef,
                                 double* out, std::span<const char> will_return) {
  if (stored() != nullptr) return add_stored(rows, coef, out);
  if (!stores_rows_ && rows_->adds_directly()) return add_directly(n_columns(), rows, coef, out);
  const RowSum sum{coef, out};
  add_in_pieces(rows, {&sum, 1}, will_return);
}

template <Real T>
void KernelMatrix<T>::add_rows_to_each(std::span<const index_t> rows, std::span<const double> coef,
                                       double* out, index_t stride) {
  require(!is_duplicated(), "sums of the rows of a single matrix only");
  const std::size_t n_sums = rows.empty() ? 0 : coef.size() / rows.size();
  if (n_sums == 1) return add_rows(rows, coef, out);
  std::vector<RowSum> sums;
  for (std::size_t p = 0; p < n_sums; ++p)
    sums.push_back(
        {coef.subspan(p * rows.size(), rows.size()), out + static_cast<index_t>(p) * stride});
  add_in_pieces(rows, sums, {});
}

template <Real T>
void KernelMatrix<T>::add_stored(std::span<const index_t> rows, std::span<const double> coef,
                                 double* out) {
  std::vector<const T*> in_memory;
  in_memory.reserve(rows.size());
  for (const index_t row : rows) in_memory.push_back(stored() + row * n_columns());
  parallel_ranges(n_columns(), kGrain, threads_for(rows.size(), n_columns()),
                  [&](index_t begin, index_t end, int) {
                    control_.poll();
                    table_.add_rows(in_memory.data(), coef.data(), std::ssize(in_memory), out,
                                    begin, end);
                  });
}

// No more at a time than the cache holds, so that none of a piece evicts another of it.
template <Real T>
void KernelMatrix<T>::add_in_pieces(std::span<const index_t> rows, std::span<const RowSum> sums,
                                    std::span<const char> will_return) {
  const std::size_t step = cache_ ? static_cast<std::size_t>(cache_->capacity()) : rows.size();
  std::vector<RowSum> of_piece(sums.begin(), sums.end());
  for (std::size_t first = 0; first < rows.size(); first += step) {
    const std::size_t n = std::min(step, rows.size() - first);
    for (std::size_t p = 0; p < sums.size(); ++p) of_piece[p].coef = sums[p].coef.subspan(first, n);
    add_piece(n_columns(), rows.subspan(first, n), of_piece,
              will_return.empty() ? will_return : will_return.subspan(first, n));
  }
}

template <Real T>
void KernelMatrix<T>::add_rows_to(index_t n_columns, std::span<const index_t> rows,
                                  std::span<const double> coef, double* out) {
  if (rows_->adds_directly()) return add_directly(n_columns, rows, coef, out);
  const std::vector<char> none_returns(rows.size(), 0);
  const RowSum sum{coef, out};
  add_piece(n_columns, rows, {&sum, 1}, none_returns);
}

template <Real T> int KernelMatrix<T>::threads_for(std::size_t n_rows, index_t n_columns) const {
  const double values = static_cast<double>(n_rows) * static_cast<double>(n_columns);
  const double products = rows_->products_per_value() + kFunctionProducts;
  return thread_count_for(threads_, kWorkOfProduct * values * products);
}

template <Real T>
void KernelMatrix<T>::add_directly(index_t n_columns, std::span<const index_t> rows,
                                   std::span<const double> coef, double* out) {
  KernelRows<T>& kernel = *rows_;
  const index_t n = static_cast<index_t>(rows.size());
  rows_computed_ += rows.size();
  kernel.gather(rows);
  const index_t chunk = kernel.add_chunk();
  const auto add = [&](index_t begin, index_t end, int thread) {
    for (index_t r = 0; r < n; r += chunk) {
      control_.poll();
      kernel.add(r, std::min(chunk, n - r), begin, end, coef.data() + r, out + begin, thread);
    }
  };
  parallel_ranges(n_columns, kGrain, threads_for(rows.size(), n_columns), add);
}

template <Real T>
void KernelMatrix<T>::add_piece(index_t n_columns, std::span<const index_t> rows,
                                std::span<const RowSum> sums, std::span<const char> will_return) {
  KernelRows<T>& kernel = *rows_;
  const index_t n = static_cast<index_t>(rows.size());
  std::vector<const T*> kept;   // rows that stand in memory, or nullptr
  std::vector<index_t> fresh;   // numbers of the others, in the piece
  std::vector<index_t> missing; // the same as columns
  std::vector<T*> room;         // of these in the cache, or nullptr
  // All are looked up before any is inserted: a new one could evict one that is about to be used.
  for (const index_t row : rows) kept.push_back(cache_ ? cache_->find(row) : nullptr);
  for (index_t r = 0; r < n; ++r)
    if (kept[r] == nullptr) {
      const bool enters = cache_ && (will_return.empty() || will_return[r]);
      room.push_back(enters ? cache_->insert(rows[r]) : nullptr);
      fresh.push_back(r);
      missing.push_back(rows[r]);
    }
  const index_t n_fresh = static_cast<index_t>(fresh.size());
  rows_computed_ += fresh.size();
  kernel.gather(missing);

  const index_t row_chunk = kernel.row_chunk();
  const index_t column_chunk = kernel.column_chunk();
  scratch_.resize(static_cast<std::size_t>(threads_));
  const auto add = [&](index_t begin, index_t end, int thread) {
    std::vector<T>& scratch = scratch_[thread];
    if (n_fresh > 0) scratch.resize(static_cast<std::size_t>(row_chunk * column_chunk));
    std::vector<T*> fresh_strip(static_cast<std::size_t>(row_chunk));
    std::vector<const T*> strip(rows.size());
    std::vector<const T*> some_rows;
    std::vector<double> some_coef;
    // A single sum has all rows, of several each takes those that it has.
    const auto add_strip = [&](index_t from, index_t until, index_t c, index_t width) {
      if (sums.size() == 1)
        return table_.add_rows(strip.data() + from, sums[0].coef.data() + from, until - from,
                               sums[0].out + c, 0, width);
      for (const RowSum& sum : sums) {
        some_rows.clear();
        some_coef.clear();
        for (index_t r = from; r < until; ++r) {
          if (sum.coef[r] == 0.0) continue;
          some_rows.push_back(strip[r]);
          some_coef.push_back(sum.coef[r]);
        }
        table_.add_rows(some_rows.data(), some_coef.data(), static_cast<index_t>(some_rows.size()),
                        sum.out + c, 0, width);
      }
    };
    // Rows from `from` up to `until`, those of them that are fresh first computed.
    const auto add_some = [&](index_t first_fresh, index_t n_fresh_here, index_t from,
                              index_t until) {
      for (index_t c = begin; c < end; c += column_chunk) {
        control_.poll();
        const index_t width = std::min(column_chunk, end - c);
        for (index_t r = from; r < until; ++r)
          if (kept[r] != nullptr) strip[r] = kept[r] + c;
        for (index_t k = 0; k < n_fresh_here; ++k) {
          T* row = room[first_fresh + k];
          fresh_strip[k] = row != nullptr ? row + c : scratch.data() + k * column_chunk;
          strip[fresh[first_fresh + k]] = fresh_strip[k];
        }
        if (n_fresh_here > 0)
          kernel.evaluate(first_fresh, n_fresh_here, c, c + width, fresh_strip.data(), thread);
        add_strip(from, until, c, width);
      }
    };
    // A chunk of the missing rows, and every row up to the next missing one.
    index_t done = 0;
    for (index_t f = 0; f < n_fresh; f += row_chunk) {
      const index_t count = std::min(row_chunk, n_fresh - f);
      const index_t until = f + count < n_fresh ? fresh[f + count] : n;
      add_some(f, count, done, until);
      done = until;
    }
    if (done < n) add_some(n_fresh, 0, done, n);
  };
  parallel_ranges(n_columns, kGrain, threads_for(rows.size(), n_columns), add);
}

template <Real T> void KernelMatrix<T>::restrict_to(std::span<const index_t> columns) {
  auto kept = rows_->restricted(single(columns));
  if (whole_)
    closed_values_ += rows_->values_computed();
  else
    whole_ = std::move(rows_);
  rows_ = std::move(kept);
  open_cache();
}

template <Real T> void KernelMatrix<T>::restore() {
  if (!whole_) return;
  closed_values_ += rows_->values_computed();
  rows_ = std::move(whole_);
  open_cache();
}

template class KernelMatrix<float>;
template class KernelMatrix<double>;

} // namespace maxmargin
