#include "maxmargin/data/scaling.hpp"

#include "maxmargin/base/parallel.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>

namespace maxmargin {
namespace {

constexpr index_t kProbes = 255;
constexpr index_t kGrain = 256;       // elements that a thread reads at the least
constexpr index_t kWorkOfElement = 4; // multiplications that centring one takes as long as

// Some of so many rows, spread over all.
std::vector<index_t> probes(index_t n_rows) {
  std::vector<index_t> rows(static_cast<std::size_t>(std::min(kProbes, n_rows)));
  for (std::size_t p = 0; p < rows.size(); ++p)
    rows[p] = static_cast<index_t>(p) * n_rows / std::ssize(rows);
  return rows;
}

template <class View> std::vector<double> medians_of(const View& X) {
  const std::vector<index_t> rows = probes(X.rows);
  const index_t n = std::ssize(rows);
  std::vector<double> values(static_cast<std::size_t>(n * X.cols), 0.0); // by column
  for (index_t p = 0; p < n; ++p)
    for_each_feature<double>(X, rows[p], Scaling{},
                             [&](index_t k, double x) { values[k * n + p] = x; });
  std::vector<double> medians;
  for (index_t k = 0; k < X.cols; ++k) {
    double* column = values.data() + k * n;
    std::nth_element(column, column + n / 2, column + n);
    medians.push_back(column[n / 2]);
  }
  return medians;
}

// The sum, or whatever `add` makes, of part(begin, end) over ranges of the rows, whose elements take
// as long as so many multiplications.
template <class Number, class View, class Part, class Add>
Number over_rows(const View& X, index_t work, int threads, Control& control, const Part& part,
                 const Add& add) {
  const index_t elements = n_stored(X);
  threads = thread_count_for(threads, static_cast<double>(work * elements));
  std::vector<Number> parts(static_cast<std::size_t>(threads), Number(0));
  const index_t grain = 1 + kGrain * X.rows / std::max<index_t>(1, elements);
  parallel_ranges(X.rows, grain, threads, control, [&](index_t begin, index_t end, int thread) {
    parts[thread] = add(parts[thread], part(begin, end));
  });
  return std::accumulate(parts.begin(), parts.end(), Number(0), add);
}

double greater(double a, double b) {
  return std::max(a, b);
}

template <class View> double largest_of(const View& X, int threads, Control& control) {
  using T = typename View::value_type;
  const auto& table = simd::real_table<T>();
  return over_rows<double>(
      X, 1, threads, control,
      [&](index_t begin, index_t end) {
        T largest = 0;
        for_values(X, begin, end, [&](std::span<const T> values) {
          largest = std::max(largest, table.largest_magnitude(values.data(), std::ssize(values)));
        });
        return static_cast<double>(largest);
      },
      greater);
}

double largest_magnitude(const MatrixView& X, const Scaling& scaling, int threads,
                         Control& control) {
  if (scaling.centre.empty())
    return std::visit([&](const auto& view) { return largest_of(view, threads, control); }, X);
  const auto of_rows = [&](const auto& view, index_t begin, index_t end) {
    double largest = 0.0;
    for (index_t i = begin; i < end; ++i)
      for_each_feature<double>(
          view, i, scaling, [&](index_t, double x) { largest = std::max(largest, std::abs(x)); });
    return largest;
  };
  double largest = std::visit(
      [&](const auto& view) {
        return over_rows<double>(
            view, kWorkOfElement, threads, control,
            [&](index_t begin, index_t end) { return of_rows(view, begin, end); }, greater);
      },
      X);
  // The zeros that a sparse matrix does not store.
  if (is_sparse(X))
    for (const double c : scaling.centre) largest = std::max(largest, std::abs(c));
  return largest;
}

// A product of sparse samples costs a load, but their zeros cost nothing. A dense copy of denser
// sparse samples is no larger than they are.
constexpr double kDenseAsSparse = 0.4;
constexpr double kSparseAsDense = 2.0 / 3.0;

// Samples whose squared norms are so many times as large as those of their differences to the
// centre would lose a digit or more of their distances.
constexpr double kFarOff = 16.0;

// As most samples are, of some that are spread over all.
bool is_far_off(const MatrixView& X) {
  const Scaling centred{column_medians(X), 0};
  if (std::ranges::all_of(centred.centre, [](double c) { return c == 0.0; })) return false;
  const auto median_square_norm = [](const auto& view, const Scaling& scaling) {
    std::vector<double> squares;
    for (const index_t i : probes(view.rows)) {
      double square = 0.0;
      for_each_feature<double>(view, i, scaling, [&](index_t, double x) { square += x * x; });
      squares.push_back(square);
    }
    const auto median = squares.begin() + std::ssize(squares) / 2;
    std::nth_element(squares.begin(), median, squares.end());
    return *median;
  };
  return std::visit(
      [&](const auto& view) {
        return median_square_norm(view, {}) > kFarOff * median_square_norm(view, centred);
      },
      X);
}

} // namespace

std::vector<double> column_medians(const MatrixView& X) {
  return std::visit([](const auto& view) { return medians_of(view); }, X);
}

double density_of(const MatrixView& X, int threads, Control& control) {
  const index_t nnz = std::visit(
      [&](const auto& view) {
        if constexpr (is_dense<std::decay_t<decltype(view)>>)
          return over_rows<index_t>(
              view, 1, threads, control,
              [&](index_t begin, index_t end) {
                index_t count = 0;
                for_values(view, begin, end, [&](auto values) {
                  count += std::ssize(values) - std::ranges::count(values, 0);
                });
                return count;
              },
              std::plus<>());
        else
          return view.nnz();
      },
      X);
  const double size = static_cast<double>(n_rows(X)) * static_cast<double>(n_cols(X));
  return size > 0 ? static_cast<double>(nnz) / size : 1.0;
}

bool are_finite(const MatrixView& X, int threads, Control& control) {
  return std::visit(
      [&]<class View>(const View& view) {
        using T = typename View::value_type;
        const auto& table = simd::real_table<T>();
        const auto n_bad = [&](index_t begin, index_t end) {
          index_t count = 0;
          for_values(view, begin, end, [&](std::span<const T> values) {
            const T largest = table.largest_magnitude(values.data(), std::ssize(values));
            count += std::isfinite(largest) ? 0 : 1;
          });
          return count;
        };
        return over_rows<index_t>(view, 1, threads, control, n_bad, std::plus<>()) == 0;
      },
      X);
}

bool packs_sparse(const MatrixView& X, double density, bool may_centre) {
  if (is_sparse(X)) return density < kSparseAsDense;
  return density < kDenseAsSparse && !(may_centre && is_far_off(X));
}

double Scaling::factor() const {
  return std::ldexp(1.0, -exponent);
}
double Scaling::square_factor() const {
  return std::ldexp(1.0, 2 * exponent);
}

Scaling scaling_of(const MatrixView& X, bool centred, int threads, Control& control) {
  Scaling scaling;
  if (centred) scaling.centre = column_medians(X);
  const double largest = largest_magnitude(X, scaling, threads, control);
  if (largest > 0.0 && std::isfinite(largest)) std::frexp(largest, &scaling.exponent);
  return scaling;
}

} // namespace maxmargin
