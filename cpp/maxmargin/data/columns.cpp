#include "maxmargin/data/columns.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/data/scaling.hpp"

#include <limits>

namespace maxmargin {

Columns::Columns(const MatrixView& X) {
  require(n_rows(X) <= std::numeric_limits<std::int32_t>::max(),
          "X may have at most 2147483647 samples here");
  const auto for_each_entry = [&](const auto& use) {
    std::visit(
        [&](const auto& view) {
          for (index_t i = 0; i < view.rows; ++i)
            for_each_feature<double>(view, i, Scaling{}, [&](index_t j, double x) {
              if (x != 0.0) use(i, j, x);
            });
        },
        X);
  };
  begins_.assign(static_cast<std::size_t>(n_cols(X)) + 1, 0);
  for_each_entry([&](index_t, index_t j, double) { ++begins_[j + 1]; });
  for (std::size_t j = 1; j < begins_.size(); ++j) begins_[j] += begins_[j - 1];
  rows_.resize(static_cast<std::size_t>(begins_.back()));
  values_.resize(rows_.size());
  std::vector<index_t> next(begins_.begin(), begins_.end() - 1);
  for_each_entry([&](index_t i, index_t j, double x) {
    const auto place = static_cast<std::size_t>(next[j]++);
    rows_[place] = static_cast<std::int32_t>(i);
    values_[place] = x;
  });
}

} // namespace maxmargin
