#include "maxmargin/linear/newton/row_passes.hpp"

#include "maxmargin/base/parallel.hpp"
#include "maxmargin/data/sample_rows.hpp"
#include "maxmargin/data/scaling.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin::linear {
namespace {

constexpr index_t kBlockRows = 128;
// A part holds at least so many rows, and its matrix of sums is one of at most so many numbers.
constexpr index_t kLeastPartRows = 8 * kBlockRows;
constexpr index_t kMostParts = 16, kFewestParts = 4;
constexpr index_t kGramNumbers = index_t{1} << 21;

// In multiplications.
constexpr double kWorkOfBody = 64.0;  // for a row
constexpr double kWorkOfSparse = 8.0; // for an element that is looked up

// sum += sum_i coef_i x_i over the rows [begin, end).
template <Real T>
void add_block(const DenseView<T>& X, index_t begin, index_t end, const double* coef, double* sum) {
  const T* rows[kBlockRows];
  double factors[kBlockRows];
  index_t n = 0;
  for (index_t i = begin; i < end; ++i) {
    if (coef[i] == 0.0) continue;
    rows[n] = X.row(i);
    factors[n++] = coef[i];
  }
  simd::real_table<T>().add_rows(rows, factors, n, sum, 0, X.cols);
}
template <Real T, class I>
void add_block(const CsrView<T, I>& X, index_t begin, index_t end, const double* coef,
               double* sum) {
  const auto rows = rows_of(X);
  for (index_t i = begin; i < end; ++i)
    if (coef[i] != 0.0) rows.add(i, coef[i], sum);
}

void add_to(std::vector<double>& sum, const std::vector<double>& part) {
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += part[k];
}

} // namespace

InterceptFeature InterceptFeature::of(double intercept_scaling) {
  if (intercept_scaling == 0.0) return {};
  if (intercept_scaling < 1.0) return {intercept_scaling, 1.0};
  return {1.0, 1.0 / intercept_scaling / intercept_scaling};
}

RowPasses::RowPasses(const MatrixView& X, const InterceptFeature& intercept, int threads,
                     Control& control, Centring centring)
    : X_(X), intercept_(intercept), threads_(thread_count(threads)), control_(control),
      n_weights_(n_cols(X) + (intercept.feature != 0.0 ? 1 : 0)) {
  const index_t for_memory =
      std::max(kFewestParts, kGramNumbers / std::max<index_t>(1, n_weights_ * n_weights_));
  const index_t for_rows = 1 + n_rows(X) / kLeastPartRows;
  n_parts_ = std::min({kMostParts, for_memory, for_rows});
  parts_.resize(static_cast<std::size_t>(n_parts_));
  if (centring == Centring::dense_rows && intercept.feature != 0.0 && !is_sparse(X))
    centre_ = column_medians(X);
}

WeightedGram RowPasses::empty_gram() const {
  return WeightedGram(n_cols(X_), intercept_.feature, centre_);
}

index_t RowPasses::part_begin(index_t part) const {
  const index_t n_blocks = (n_rows(X_) + kBlockRows - 1) / kBlockRows;
  return std::min(n_rows(X_), n_blocks * part / n_parts_ * kBlockRows);
}

void RowPasses::for_parts(
    const std::function<void(index_t begin, index_t end, index_t part)>& body) const {
  const double work = kWorkOfBody * static_cast<double>(n_rows(X_));
  parallel_for(n_parts_, thread_count_for(threads_, work), [&](index_t part, int) {
    control_.poll();
    body(part_begin(part), part_begin(part + 1), part);
  });
}

void RowPasses::run(const RowPass& pass) {
  const index_t of_element = pass.gram != nullptr ? n_weights_ : 1;
  const double work = kWorkOfBody * static_cast<double>(n_rows(X_)) +
                      (is_sparse(X_) ? kWorkOfSparse : 1.0) * static_cast<double>(n_stored(X_)) *
                          static_cast<double>(of_element);
  const int threads = thread_count_for(threads_, work);
  std::visit(
      [&](const auto& view) {
        parallel_for(n_parts_, threads, [&](index_t part, int) { run_part(view, pass, part); });
      },
      X_);
  for (std::size_t s = 0; s < pass.sums.size(); ++s) {
    std::vector<double>& result = *pass.sums[s].result;
    result.assign(static_cast<std::size_t>(n_weights_), 0.0);
    for (const Part& part : parts_) add_to(result, part.sums[s]);
  }
  if (pass.gram != nullptr)
    for (const Part& part : parts_) pass.gram->add(part.gram.front());
}

template <class View> void RowPasses::run_part(const View& X, const RowPass& pass, index_t part) {
  Part& mine = parts_[part];
  mine.sums.assign(pass.sums.size(), std::vector<double>(static_cast<std::size_t>(n_weights_)));
  if (pass.gram != nullptr) {
    if (mine.gram.empty()) mine.gram.push_back(empty_gram());
    mine.gram.front().clear();
  }
  const auto rows = rows_of(X);
  const double feature = intercept_.feature;
  const index_t last = part_begin(part + 1);
  for (index_t begin = part_begin(part); begin < last; begin += kBlockRows) {
    control_.poll();
    const index_t end = std::min(last, begin + kBlockRows);
    if (!pass.weights.empty()) {
      const double offset = feature != 0.0 ? feature * pass.weights.back() : 0.0;
      for (index_t i = begin; i < end; ++i)
        pass.products[i] = rows.dot(i, pass.weights.data()) + offset;
    }
    if (pass.body) pass.body(begin, end, part);
    for (std::size_t s = 0; s < pass.sums.size(); ++s) {
      const double* coef = pass.sums[s].coef.data();
      add_block(X, begin, end, coef, mine.sums[s].data());
      if (feature == 0.0) continue;
      for (index_t i = begin; i < end; ++i) mine.sums[s].back() += feature * coef[i];
    }
    if (pass.gram == nullptr) continue;
    for (index_t i = begin; i < end; ++i)
      if (pass.gram_weights[i] != 0.0) mine.gram.front().add(X, i, pass.gram_weights[i]);
  }
  if (pass.gram != nullptr) mine.gram.front().flush();
}

} // namespace maxmargin::linear
