#include "c/handles.hpp"
#include "maxmargin/base/sums.hpp"

#include <cstdlib>
#include <limits>
#include <memory>

namespace maxmargin::c {
namespace {

std::string text_of(index_t number) {
  return std::to_string(number);
}

constexpr index_t kMost = std::numeric_limits<index_t>::max() / 16; // bytes
constexpr index_t kBlock = index_t{1} << 19; // elements that are copied at a time

void check_shape(index_t n_rows, index_t n_features) {
  require(n_rows >= 0, "n_rows must be at least 0, got " + text_of(n_rows));
  require(n_features >= 1, "n_features must be at least 1, got " + text_of(n_features));
  require(n_rows == 0 || n_features <= kMost / n_rows,
          "n_rows x n_features must fit into memory, got " + text_of(n_rows) + " x " +
              text_of(n_features));
}

void check_stride(const char* name, index_t stride, index_t n) {
  require(n <= 1 || (stride >= -kMost / n && stride <= kMost / n),
          std::string(name) + " must be within memory, got " + text_of(stride));
}

// Rows [begin, end) without gaps.
SampleMatrix gathered(const mm_samples& samples, index_t begin, index_t end) {
  return std::visit(
      [&]<class View>(const View& view) -> SampleMatrix {
        if constexpr (is_dense<View>) {
          DenseSamples<typename View::value_type> copy{{}, end - begin, view.cols};
          copy.values.reserve(static_cast<std::size_t>(copy.rows * copy.cols));
          for (index_t i = begin; i < end; ++i)
            for (index_t j = 0; j < view.cols; ++j)
              copy.values.push_back(view.row(i)[j * samples.column_stride]);
          return copy;
        } else {
          return copy_of(rows_between(samples.view, begin, end));
        }
      },
      samples.view);
}

template <Real T, class I>
mm_samples csr(const void* values, const void* indices, const void* indptr, index_t n_rows,
               index_t n_features) {
  mm_samples samples;
  samples.view = CsrView<T, I>{static_cast<const T*>(values), static_cast<const I*>(indices),
                               static_cast<const I*>(indptr), n_rows, n_features};
  return samples;
}

// Stores a checked view.
void store(mm_samples samples, mm_samples** out) {
  for_blocks(samples, [](const MatrixView& X, index_t begin) { check_samples(X, begin); });
  auto owned = std::make_unique<mm_samples>(std::move(samples));
  not_null(out, "samples") = owned.release();
}

} // namespace

MatrixView whole(const mm_samples& samples, SampleMatrix& copy) {
  if (samples.column_stride == 1) return samples.view;
  copy = gathered(samples, 0, n_rows(samples.view));
  return view_of(copy);
}

void for_blocks(const mm_samples& samples,
                const std::function<void(const MatrixView& X, index_t begin)>& work) {
  if (samples.column_stride == 1) return work(samples.view, 0);
  const index_t n = n_rows(samples.view), size = 1 + kBlock / n_cols(samples.view);
  for (index_t begin = 0; begin < n; begin += size) {
    const SampleMatrix block = gathered(samples, begin, std::min(n, begin + size));
    work(view_of(block), begin);
  }
}

} // namespace maxmargin::c

using namespace maxmargin;
using namespace maxmargin::c;

mm_status mm_samples_dense(const void* values, mm_type type, int64_t n_rows, int64_t n_features,
                           int64_t row_stride, int64_t column_stride, mm_samples** samples) {
  return guarded([&] {
    not_null(samples, "samples");
    check_shape(n_rows, n_features);
    if (n_rows > 0) not_null(static_cast<const char*>(values), "values");
    require(type == MM_FLOAT32 || type == MM_FLOAT64,
            "type must be MM_FLOAT32 or MM_FLOAT64, got " + text_of(type));
    check_stride("row_stride", row_stride, n_rows);
    check_stride("column_stride", column_stride, n_features);
    mm_samples made;
    if (type == MM_FLOAT32)
      made.view =
          DenseView<float>{static_cast<const float*>(values), n_rows, n_features, row_stride};
    else
      made.view =
          DenseView<double>{static_cast<const double*>(values), n_rows, n_features, row_stride};
    if (n_features > 1) made.column_stride = column_stride;
    store(std::move(made), samples);
  });
}

mm_status mm_samples_csr(const void* values, mm_type type, const void* indices, const void* indptr,
                         mm_type index_type, int64_t n_rows, int64_t n_features,
                         mm_samples** samples) {
  return guarded([&] {
    not_null(samples, "samples");
    check_shape(n_rows, n_features);
    not_null(static_cast<const char*>(indptr), "indptr");
    require(type == MM_FLOAT32 || type == MM_FLOAT64,
            "type must be MM_FLOAT32 or MM_FLOAT64, got " + text_of(type));
    require(index_type == MM_INT32 || index_type == MM_INT64,
            "index_type must be MM_INT32 or MM_INT64, got " + text_of(index_type));
    const bool is_wide = index_type == MM_INT64;
    auto* const make = type == MM_FLOAT32
                           ? (is_wide ? csr<float, std::int64_t> : csr<float, std::int32_t>)
                           : (is_wide ? csr<double, std::int64_t> : csr<double, std::int32_t>);
    mm_samples made = make(values, indices, indptr, n_rows, n_features);
    if (n_stored(made.view) != 0) {
      not_null(static_cast<const char*>(values), "values");
      not_null(static_cast<const char*>(indices), "indices");
    }
    store(std::move(made), samples);
  });
}

void mm_samples_free(mm_samples* samples) {
  delete samples;
}
