#include "maxmargin/base/files.hpp"
#include "dropin/guarded.hpp"
#include "dropin/libsvm/model.hpp"
#include "dropin/libsvm/training.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/model/class_order.hpp"
#include "maxmargin/model/model_io.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace maxmargin::dropin {
namespace {

template <class T> std::vector<T> vector_of(const auto* numbers, index_t n) {
  return numbers == nullptr ? std::vector<T>() : std::vector<T>(numbers, numbers + n);
}

// What a file holds of a model, from its fields.
KernelModelParts parts_of(const svm_model& model, index_t& first_index) {
  KernelModelParts parts;
  require(model.param.svm_type >= C_SVC && model.param.svm_type <= NU_SVR, "unknown svm type");
  parts.type = static_cast<SvmType>(model.param.svm_type);
  parts.kernel = kernel_of(model.param);
  const std::span<svm_node* const> vectors(model.SV, static_cast<std::size_t>(model.l));
  if (parts.is_precomputed()) {
    DenseSamples<double> numbers{{}, model.l, 1};
    for (const svm_node* vector : vectors) numbers.values.push_back(vector->value);
    parts.support_vectors = std::move(numbers);
    first_index = 0;
  } else {
    NodeMatrix X = matrix_of<Repeated::first>(vectors);
    first_index = X.base;
    parts.support_vectors = std::move(X.rows);
  }
  for (int row = 0; row < model.nr_class - 1; ++row)
    parts.dual_coef.insert(parts.dual_coef.end(), model.sv_coef[row], model.sv_coef[row] + model.l);
  const bool has_classes = is_classifier(parts.type);
  const index_t n_classes = model.nr_class, n_machines = has_classes ? n_pairs(n_classes) : 1;
  parts.rho = vector_of<double>(model.rho, n_machines);
#if MAXMARGIN_LAYOUT >= 330
  parts.density_marks = vector_of<double>(model.prob_density_marks, 10);
#endif
  if (!has_classes) {
    if (model.probA != nullptr) parts.noise_scale = model.probA[0];
    return parts;
  }
  parts.labels = vector_of<double>(model.label, n_classes);
  parts.n_support = vector_of<index_t>(model.nSV, n_classes);
  parts.prob_a = vector_of<double>(model.probA, n_machines);
  parts.prob_b = vector_of<double>(model.probB, n_machines);
  return parts;
}

// Calls visit(row, index, value) for the entries that are not zero.
template <class Visit> void for_entries(const MatrixView& X, const Visit& visit) {
  std::visit(
      [&](const auto& view) {
        for (index_t i = 0; i < view.rows; ++i)
          if constexpr (is_dense<std::decay_t<decltype(view)>>) {
            for (index_t j = 0; j < view.cols; ++j)
              if (view.row(i)[j] != 0) visit(i, j, view.row(i)[j]);
          } else {
            for (std::size_t p = 0; p < view.row_values(i).size(); ++p)
              visit(i, static_cast<index_t>(view.row_indices(i)[p]), view.row_values(i)[p]);
          }
      },
      X);
}

// Column j has the index j.
void take_vectors(const KernelModelParts& parts, svm_model& model) {
  const MatrixView X = view_of(parts.support_vectors);
  std::vector<std::vector<svm_node>> rows(static_cast<std::size_t>(model.l));
  std::size_t n = rows.size();
  for_entries(X, [&](index_t i, index_t j, double value) {
    rows[static_cast<std::size_t>(i)].push_back({static_cast<int>(j), value});
    ++n;
  });
  auto* next = static_cast<svm_node*>(std::malloc(std::max<std::size_t>(n, 1) * sizeof(svm_node)));
  if (next == nullptr) throw std::bad_alloc();
  model.free_sv = 1;
  if (model.l == 0) std::free(next);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    model.SV[i] = next;
    next = std::ranges::copy(rows[i], next).out;
    *next++ = {-1, 0.0};
  }
}

KernelModelParts read(const std::string& text) {
  if (text.find("\nnr_class 1\n") != std::string::npos) { // it predicts the one label
    constexpr std::string_view kLabel = "\nlabel ";
    const auto label = text.find(kLabel);
    require(label != std::string::npos, "a file of one class must name it");
    KernelModelParts parts;
    const long value = std::strtol(text.c_str() + label + kLabel.size(), nullptr, 10);
    parts.labels = {static_cast<double>(
        std::clamp<long>(value, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()))};
    parts.n_support = parts.vote_order = {0};
    return parts;
  }
  try {
    return read_model(text, IndexBase::zero).parts();
  } catch (const InvalidArgument&) {
    return read_model(text, IndexBase::zero, 1).parts(); // all vectors may be zero
  }
}

svm_model* loaded(const std::string& text) {
  KernelModelParts parts = read(text);
  if (is_classifier(parts.type)) parts = with_class_order(parts, parts.vote_order);
  svm_parameter param{};
  param.svm_type = static_cast<int>(parts.type);
  param.kernel_type = static_cast<int>(parts.kernel.type);
  param.degree = parts.kernel.degree;
  param.gamma = parts.kernel.gamma;
  param.coef0 = parts.kernel.coef0;
  ModelPointer made = model_of(parts, param);
  take_vectors(parts, *made);
  return released(std::move(made));
}

} // namespace
} // namespace maxmargin::dropin

using namespace maxmargin;
using namespace maxmargin::dropin;

int svm_save_model(const char* path, const svm_model* model) {
  if (path == nullptr || model == nullptr) return -1;
  return guarded(-1, [&] {
    index_t first_index = 1;
    const KernelModelParts parts = maxmargin::dropin::parts_of(*model, first_index);
    return write_file(path, model_text(parts, first_index)) ? 0 : -1;
  });
}

svm_model* svm_load_model(const char* path) {
  if (path == nullptr) return nullptr;
  return guarded<svm_model*>(nullptr, [&]() -> svm_model* {
    const std::optional<std::string> text = read_file(path);
    return text ? loaded(*text) : nullptr;
  });
}
