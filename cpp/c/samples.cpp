#include "c/handles.hpp"

#include <limits>
#include <memory>

namespace maxmargin::c {
namespace {

std::string text_of(index_t number) {
  return std::to_string(number);
}

void check_shape(index_t n_rows, index_t n_features) {
  require(n_rows >= 0, "n_rows must be at least 0, got " + text_of(n_rows));
  require(n_features >= 1, "n_features must be at least 1, got " + text_of(n_features));
  require(n_rows == 0 || n_features <= std::numeric_limits<index_t>::max() / 8 / n_rows,
          "n_rows x n_features must fit into memory, got " + text_of(n_rows) + " x " +
              text_of(n_features));
}

template <Real T>
mm_samples dense(const T* values, index_t n_rows, index_t n_features, index_t row_stride,
                 index_t column_stride) {
  mm_samples samples;
  if (column_stride == 1 && (row_stride == n_features || n_rows <= 1)) {
    samples.view = DenseView<T>{values, n_rows, n_features};
    return samples;
  }
  DenseSamples<T> copy{{}, n_rows, n_features};
  copy.values.reserve(static_cast<std::size_t>(n_rows * n_features));
  for (index_t i = 0; i < n_rows; ++i)
    for (index_t j = 0; j < n_features; ++j)
      copy.values.push_back(values[i * row_stride + j * column_stride]);
  samples.copy = std::move(copy);
  samples.view = view_of(samples.copy);
  return samples;
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
  check_samples(samples.view);
  auto owned = std::make_unique<mm_samples>(std::move(samples));
  not_null(out, "samples") = owned.release();
}

} // namespace
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
    if (type == MM_FLOAT32)
      store(dense(static_cast<const float*>(values), n_rows, n_features, row_stride, column_stride),
            samples);
    else
      store(
          dense(static_cast<const double*>(values), n_rows, n_features, row_stride, column_stride),
          samples);
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
