#pragma once

#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"

#include <span>
#include <variant>
#include <vector>

namespace maxmargin {

// Samples that own their memory, in any of the forms that are read without a copy (data/views.hpp).

template <Real T> struct DenseSamples {
  std::vector<T> values;
  index_t rows = 0;
  index_t cols = 0;

  DenseView<T> view() const { return {values.data(), rows, cols}; }
};

template <Real T, class I> struct CsrSamples {
  std::vector<T> values;
  std::vector<I> indices;
  std::vector<I> indptr{0};
  index_t cols = 0;

  index_t rows() const { return static_cast<index_t>(indptr.size()) - 1; }
  CsrView<T, I> view() const {
    return {values.data(), indices.data(), indptr.data(), rows(), cols};
  }
};

using SampleMatrix =
    std::variant<DenseSamples<double>, DenseSamples<float>, CsrSamples<double, std::int32_t>,
                 CsrSamples<double, std::int64_t>, CsrSamples<float, std::int32_t>,
                 CsrSamples<float, std::int64_t>>;

inline MatrixView view_of(const SampleMatrix& samples) {
  return std::visit([](const auto& own) { return MatrixView(own.view()); }, samples);
}

// The arrays as they are, valid or not. Throws InvalidArgument where a number of entries is
// negative.
MAXMARGIN_API SampleMatrix copy_of(const MatrixView& X);

// Some rows of X, in this order and in the form of X.
MAXMARGIN_API SampleMatrix rows_of(const MatrixView& X, std::span<const index_t> rows);

// Throws InvalidArgument unless the numbers are finite and sparse rows are canonical. Messages
// count the rows from `first_row`.
MAXMARGIN_API void check_samples(const MatrixView& X, index_t first_row = 0);

} // namespace maxmargin
