#include "maxmargin/model/linear/linear_model.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/data/row_reader.hpp"
#include "maxmargin/data/sample_rows.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

constexpr index_t kGrain = 64; // samples

// So many stay in the cache while the weights of all functions pass by.
constexpr index_t kRowsTogether = 32;

// f of every row and function.
template <class View> void evaluate(const LinearModelParts& parts, const View& X, double* out) {
  rows_of(X).values(parts.coef.data(), parts.intercept.data(), parts.n_functions(), out);
}

} // namespace

LinearModel::LinearModel(LinearModelParts parts) : parts_(std::move(parts)) {
  const index_t n_functions = parts_.n_functions(), n_classes = parts_.n_classes;
  require(n_classes == 0 || n_classes >= 2, "n_classes must be 0 or at least 2");
  require(n_functions == (n_classes > 2 ? n_classes : 1),
          "intercept must have an element for every function");
  require(parts_.n_features >= 0 && std::ssize(parts_.coef) == n_functions * parts_.n_features,
          "coef must have a row for every function, and a column for every feature");
  require(all_finite(parts_.coef), "coef holds a number that is not finite");
  require(all_finite(parts_.intercept), "intercept holds a number that is not finite");
}

std::vector<double> LinearModel::decision_values(const MatrixView& X, int threads, Control& control,
                                                 bool is_mapped) const {
  require(n_cols(X) == parts_.n_features, "X must have the features of the model");
  const index_t n_functions = parts_.n_functions();
  std::vector<double> values(static_cast<std::size_t>(n_rows(X) * n_functions));
  const double work = static_cast<double>(n_stored(X) * n_functions);
  // Each thread would hold as much of a mapped file.
  threads = is_mapped ? 1 : thread_count_for(threads, work);
  std::visit(
      [&](const auto& view) {
        parallel_ranges(view.rows, kGrain, threads, [&](index_t begin, index_t end, int) {
          const auto range = rows_between(view, begin, end);
          RowReader reader(range, is_mapped, false, control);
          for (index_t i = begin; i < end; i += kRowsTogether) {
            const index_t next = std::min(end, i + kRowsTogether);
            reader.note(0, (next - i) * n_functions);
            evaluate(parts_, rows_between(view, i, next), values.data() + i * n_functions);
          }
        });
      },
      X);
  return values;
}

std::vector<double> LinearModel::predict(const MatrixView& X, int threads, Control& control) const {
  std::vector<double> values = decision_values(X, threads, control);
  if (parts_.n_classes == 0) return values;
  std::vector<double> all;
  const auto n_functions = static_cast<std::size_t>(parts_.n_functions());
  for (std::size_t i = 0; i < values.size(); i += n_functions)
    all.push_back(predicted(values.data() + i));
  return all;
}

void LinearModel::values_of_row(const MatrixView& X, double* out) const {
  std::visit([&](const auto& view) { evaluate(parts_, rows_between(view, 0, 1), out); }, X);
}

double LinearModel::predicted(const double* values) const {
  const index_t n_functions = parts_.n_functions();
  if (parts_.n_classes == 0) return *values;
  if (n_functions == 1) return *values >= 0.0 ? 1.0 : 0.0;
  return static_cast<double>(std::max_element(values, values + n_functions) - values);
}

} // namespace maxmargin
