#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/kernel/kernel_rows.hpp"
#include "maxmargin/kernel/row_cache.hpp"
#include "maxmargin/simd/kernel_table.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace maxmargin {

// With duplicated variables, the matrix has every column and every row twice: first all, then all
// again. That is the matrix of two variables for each sample (regression), and costs little more
// than the single one.
enum class Variables { single, duplicated };

// A sum of rows: out[c] += sum_r coef[r] row_r[c].
struct RowSum {
  std::span<const double> coef;
  double* out;
};

// The kernel matrix as a solver sees it: small square blocks, and sums of rows. Rows are kept in an
// LRU cache where reading one again is cheaper than computing it; else they exist a strip at a
// time. Every number that comes out is the same to the last bit whatever the cache holds (unless
// squares take values from it) and however many threads work: the values depend on the samples
// alone and are added in the order of the rows.
template <Real T> class KernelMatrix {
 public:
  // `control` is polled during the work that add_rows does, which may take long. `stored`: all
  // values of a single matrix, row by row, where they were computed beforehand; must outlive this.
  KernelMatrix(std::unique_ptr<KernelRows<T>> rows, std::size_t cache_bytes, int threads,
               Control& control, Variables variables = Variables::single,
               const T* stored = nullptr);

  // Whether squares copy values from cached rows, where the cache holds all rows and values are
  // expensive. K(i, j) of row i and of row j may differ in the last bit. So results then depend on
  // which rows are cached, and that must not depend on other machines or on time.
  void set_square_from_rows(bool may) { may_take_rows_ = may; }

  index_t size() const { return is_duplicated() ? 2 * n_columns() : n_columns(); }
  // Those of which a row has values of its own.
  index_t n_columns() const { return rows_->size(); }
  int threads() const { return threads_; }
  // Whether computing a value costs more than fetching it from main memory.
  bool has_expensive_values() const { return rows_->products_per_value() >= kCheapProducts; }

  // The whole matrix where it stands in memory: size() x size() numbers; else nullptr.
  const T* stored() const { return whole_ ? nullptr : stored_; }

  // out[r * stride + c] = K(rows[r], rows[c]); stride >= rows.size() rounded up to a cache line.
  void square(std::span<const index_t> rows, T* out, index_t stride);

  // out[c] += sum_r coef[r] K(rows[r], c) for every column c. A computed row enters the cache where
  // will_return is set, as for rows that are likely to be needed again. Empty: all rows.
  void add_rows(std::span<const index_t> rows, std::span<const double> coef, double* out,
                std::span<const char> will_return = {});

  // Wakes the threads of an add_rows of about n_rows rows that comes in a moment.
  void expect_rows(std::size_t n_rows) const { wake_threads(threads_for(n_rows, n_columns())); }

  // The same for n_outputs sums of the rows, each of which is looked up or computed once for all:
  // out[p * stride + c] += sum_r coef[p * rows.size() + r] K(rows[r], c). Of a single matrix.
  void add_rows_to_each(std::span<const index_t> rows, std::span<const double> coef, double* out,
                        index_t stride);

  // The same as add_rows for the first n_columns of them only, a multiple of a line; nothing enters
  // the cache.
  void add_rows_to(index_t n_columns, std::span<const index_t> rows, std::span<const double> coef,
                   double* out);

  // Leaves only these columns, renumbered from 0 and padded to a cache line, until restore(). May
  // be called again on what is left.
  void restrict_to(std::span<const index_t> columns);
  void restore();

  std::size_t rows_computed() const { return rows_computed_; }
  index_t values_computed() const;
  std::size_t cache_hits() const;
  std::size_t cache_misses() const;

 private:
  static constexpr double kCheapProducts = 32.0;

  bool is_duplicated() const { return variables_ == Variables::duplicated && !whole_; }
  std::vector<index_t> single(std::span<const index_t> columns) const;
  void open_cache();
  void add_duplicated(std::span<const index_t> rows, std::span<const double> coef, double* out,
                      std::span<const char> will_return);
  void square_from_rows(std::span<const index_t> columns, T* out, index_t stride);
  void add_single(std::span<const index_t> rows, std::span<const double> coef, double* out,
                  std::span<const char> will_return);
  int threads_for(std::size_t n_rows, index_t n_columns) const;
  void add_directly(index_t n_columns, std::span<const index_t> rows, std::span<const double> coef,
                    double* out);
  void add_stored(std::span<const index_t> rows, std::span<const double> coef, double* out);
  void add_in_pieces(std::span<const index_t> rows, std::span<const RowSum> sums,
                     std::span<const char> will_return);
  void add_piece(index_t n_columns, std::span<const index_t> rows, std::span<const RowSum> sums,
                 std::span<const char> will_return);

  std::unique_ptr<KernelRows<T>> rows_;
  std::unique_ptr<KernelRows<T>> whole_; // while rows_ is restricted
  Variables variables_;
  const T* stored_;
  std::size_t cache_bytes_;
  int threads_;
  Control& control_;
  const simd::RealTable<T>& table_;
  bool stores_rows_ = false;
  bool may_take_rows_ = false;
  std::optional<RowCache<T>> cache_;
  std::vector<std::vector<T>> scratch_; // by thread
  std::size_t rows_computed_ = 0;
  index_t closed_values_ = 0; // of restricted rows that are no more
  std::size_t closed_hits_ = 0, closed_misses_ = 0;
};

} // namespace maxmargin
