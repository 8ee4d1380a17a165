#include "c/handles.hpp"
#include "maxmargin/model/decision/row_predictor.hpp"

#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>

// Shared by the handles of a predictor and of its memories: either may be freed first.
struct mm_predictor {
  struct Content {
    maxmargin::RowPredictor rows;
    std::vector<double> labels; // of classes, where rows are predicted by number
    bool is_pair;
  };
  std::shared_ptr<const Content> content;
};

struct mm_scratch {
  std::shared_ptr<const mm_predictor::Content> of;
  std::unique_ptr<maxmargin::RowPredictor::Memory> memory;
  std::vector<std::byte> row; // without its gaps
};

namespace maxmargin::c {
namespace {

using Content = mm_predictor::Content;

std::shared_ptr<const Content> packed(const mm_model& model, bool in_float32) {
  const std::vector<double> labels = predicts_numbers(model) ? model.labels : std::vector<double>();
  if (const auto* kernel = std::get_if<KernelModel>(&model.model))
    return std::make_shared<const Content>(
        Content{RowPredictor(*kernel, in_float32), labels, is_pair(*kernel)});
  return std::make_shared<const Content>(
      Content{RowPredictor(std::get<LinearModel>(model.model)), labels, false});
}

void predict(const mm_predictor* predictor, mm_scratch* scratch, const MatrixView& X,
             double* decision_values, double* predicted) {
  const Content& own = *not_null(predictor, "predictor").content;
  mm_scratch& memory = not_null(scratch, "scratch");
  if (memory.of.get() != &own)
    throw InvalidArgument("scratch must be of this predictor, got that of another");
  const double result = own.rows.predict(X, *memory.memory, decision_values);
  // LIBSVM's sign is positive for the first class.
  if (decision_values != nullptr && own.is_pair) *decision_values = -*decision_values;
  if (predicted != nullptr)
    *predicted = own.labels.empty() ? result : own.labels[static_cast<std::size_t>(result)];
}

template <Real T>
const T* without_gaps(const T* values, index_t n, index_t stride, std::vector<std::byte>& memory) {
  memory.resize(static_cast<std::size_t>(n) * sizeof(T));
  T* const numbers = reinterpret_cast<T*>(memory.data());
  for (index_t j = 0; j < n; ++j) std::memcpy(numbers + j, values + j * stride, sizeof(T));
  return numbers;
}

// Calls run(type) with a number of the type.
template <class Run> void with_real(mm_type type, const Run& run) {
  if (type == MM_FLOAT32) return run(float{});
  if (type == MM_FLOAT64) return run(double{});
  throw InvalidArgument("type must be MM_FLOAT32 or MM_FLOAT64, got " + std::to_string(type));
}
template <class Run> void with_index(mm_type type, const Run& run) {
  if (type == MM_INT32) return run(std::int32_t{});
  if (type == MM_INT64) return run(std::int64_t{});
  throw InvalidArgument("index_type must be MM_INT32 or MM_INT64, got " + std::to_string(type));
}

} // namespace
} // namespace maxmargin::c

using namespace maxmargin;
using namespace maxmargin::c;

mm_status mm_predictor_new(const mm_model* model, mm_type type, mm_predictor** predictor) {
  return guarded([&] {
    not_null(predictor, "predictor");
    with_real(type, [&](auto real) {
      auto made = std::make_unique<mm_predictor>();
      made->content = packed(not_null(model, "model"), sizeof real == sizeof(float));
      *predictor = made.release();
    });
  });
}

void mm_predictor_free(mm_predictor* predictor) {
  delete predictor;
}

mm_status mm_scratch_new(const mm_predictor* predictor, mm_scratch** scratch) {
  return guarded([&] {
    not_null(scratch, "scratch");
    auto made = std::make_unique<mm_scratch>();
    made->of = not_null(predictor, "predictor").content;
    made->memory = made->of->rows.memory();
    *scratch = made.release();
  });
}

void mm_scratch_free(mm_scratch* scratch) {
  delete scratch;
}

mm_status mm_predictor_row(const mm_predictor* predictor, mm_scratch* scratch, const void* row,
                           mm_type type, int64_t n_features, int64_t stride,
                           double* decision_values, double* predicted) {
  return guarded([&] {
    not_null(static_cast<const char*>(row), "row");
    with_real(type, [&]<Real T>(T) {
      const T* values = static_cast<const T*>(row);
      if (stride != 1 && n_features == not_null(predictor, "predictor").content->rows.n_features())
        values = without_gaps(values, n_features, stride, not_null(scratch, "scratch").row);
      predict(predictor, scratch, DenseView<T>{values, 1, n_features}, decision_values, predicted);
    });
  });
}

mm_status mm_predictor_sparse_row(const mm_predictor* predictor, mm_scratch* scratch,
                                  const void* values, mm_type type, const void* indices,
                                  mm_type index_type, int64_t n_stored, double* decision_values,
                                  double* predicted) {
  return guarded([&] {
    const index_t n_features = not_null(predictor, "predictor").content->rows.n_features();
    if (n_stored < 0 || n_stored > n_features)
      throw InvalidArgument("n_stored must be at least 0, and at most the " +
                            std::to_string(n_features) + " features, got " +
                            std::to_string(n_stored));
    if (n_stored > 0) {
      not_null(static_cast<const char*>(values), "values");
      not_null(static_cast<const char*>(indices), "indices");
    }
    with_real(type, [&]<Real T>(T) {
      with_index(index_type, [&]<class I>(I) {
        if (n_stored > std::numeric_limits<I>::max())
          throw InvalidArgument("n_stored must fit into index_type, got " +
                                std::to_string(n_stored));
        const I indptr[] = {0, static_cast<I>(n_stored)};
        predict(predictor, scratch,
                CsrView<T, I>{static_cast<const T*>(values), static_cast<const I*>(indices), indptr,
                              1, n_features},
                decision_values, predicted);
      });
    });
  });
}
