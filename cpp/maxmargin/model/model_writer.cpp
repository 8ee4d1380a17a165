#include "maxmargin/model/model_io.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/model/model_names.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace maxmargin {
namespace {

void append_line(std::string& text, std::string_view keyword, const std::vector<double>& numbers) {
  text += keyword;
  for (const double number : numbers) {
    text += ' ';
    append_real(text, number);
  }
  text += '\n';
}

template <std::integral T>
void append_line(std::string& text, std::string_view keyword, const std::vector<T>& numbers) {
  text += keyword;
  for (const T number : numbers) {
    text += ' ';
    append_integer(text, number);
  }
  text += '\n';
}

bool all_finite(const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

std::vector<std::int32_t> integer_labels(const std::vector<double>& labels) {
  std::vector<std::int32_t> integers;
  for (const double label : labels) {
    using Limits = std::numeric_limits<std::int32_t>;
    require(std::trunc(label) == label && label >= Limits::min() && label <= Limits::max(),
            "LIBSVM's model format holds only 32-bit integer labels");
    integers.push_back(static_cast<std::int32_t>(label));
  }
  return integers;
}

void check_parts_fit(const SvmModel& model) {
  const index_t n_classes = model.n_classes();
  const SupportVectors& vectors = model.support_vectors;
  require(std::ssize(model.labels) == n_classes, "labels must have n_classes elements");
  if (is_classifier(model.type)) {
    require(n_classes >= 2, "a classifier needs at least two classes");
    require(std::ssize(model.rho) == n_classes * (n_classes - 1) / 2,
            "rho must have n_classes (n_classes - 1) / 2 elements");
    require(std::accumulate(model.n_support.begin(), model.n_support.end(), index_t{0}) ==
                vectors.rows,
            "n_support must add up to the number of support vectors");
  } else {
    require(n_classes == 0, "only classifiers have classes");
    require(model.rho.size() == 1, "rho must have one element");
  }
  const std::size_t n_sigmoids = model.prob_a.size();
  require(n_sigmoids == model.prob_b.size() &&
              (n_sigmoids == 0 || (is_classifier(model.type) && n_sigmoids == model.rho.size())),
          "prob_a and prob_b must both be empty or have an element for each rho of a classifier");
  require(!model.noise_scale || (is_regression(model.type) && std::isfinite(*model.noise_scale)),
          "noise_scale must be finite, and only a regression has one");
  require(std::ssize(model.dual_coef) == model.n_coef_rows() * vectors.rows,
          "dual_coef must have a row for every other class and a column for every support vector");
  require(std::isfinite(model.kernel.gamma) && std::isfinite(model.kernel.coef0) &&
              all_finite(model.rho) && all_finite(model.prob_a) && all_finite(model.prob_b) &&
              all_finite(model.dual_coef) && all_finite(vectors.values),
          "a model with numbers that are not finite cannot be saved");
}

void append_kernel(std::string& text, const KernelParams& kernel) {
  require(static_cast<std::size_t>(kernel.type) < kKernelNames.size(),
          "LIBSVM's model format does not know this kernel");
  text += "kernel_type ";
  text += kKernelNames[static_cast<std::size_t>(kernel.type)];
  text += '\n';
  if (uses_degree(kernel.type)) append_line(text, "degree", std::vector{kernel.degree});
  if (uses_gamma(kernel.type)) append_line(text, "gamma", std::vector{kernel.gamma});
  if (uses_coef0(kernel.type)) append_line(text, "coef0", std::vector{kernel.coef0});
}

// LIBSVM ends every coefficient and every entry with a blank.
void append_support_vector(std::string& text, const SvmModel& model, index_t i) {
  const SupportVectors& vectors = model.support_vectors;
  const index_t first_index = model.kernel.type == KernelType::precomputed ? 0 : 1;
  for (index_t row = 0; row < model.n_coef_rows(); ++row) {
    append_real(text, model.dual_coef[static_cast<std::size_t>(row * vectors.rows + i)]);
    text += ' ';
  }
  const auto begin = static_cast<std::size_t>(vectors.indptr[static_cast<std::size_t>(i)]);
  const auto end = static_cast<std::size_t>(vectors.indptr[static_cast<std::size_t>(i) + 1]);
  for (std::size_t p = begin; p < end; ++p) {
    if (vectors.values[p] == 0.0) continue;
    append_integer(text, vectors.indices[p] + first_index);
    text += ':';
    append_real(text, vectors.values[p]);
    text += ' ';
  }
  text += '\n';
}

} // namespace

std::string write_model(const SvmModel& given, const std::vector<index_t>& class_order) {
  check_parts_fit(given);
  inverse_order(class_order, given.n_classes()); // throws unless it is a permutation
  const bool has_classes = is_classifier(given.type);
  const SvmModel model = has_classes ? with_class_order(given, class_order) : given;
  std::string text = "svm_type ";
  text += name_of(model.type);
  text += '\n';
  append_kernel(text, model.kernel);
  append_line(text, "nr_class", std::vector{has_classes ? model.n_classes() : index_t{2}});
  append_line(text, "total_sv", std::vector{model.support_vectors.rows});
  append_line(text, "rho", model.rho);
  if (has_classes) {
    append_line(text, "label", integer_labels(model.labels));
    if (!model.prob_a.empty()) {
      append_line(text, "probA", model.prob_a);
      append_line(text, "probB", model.prob_b);
    }
    append_line(text, "nr_sv", model.n_support);
  }
  if (model.noise_scale) append_line(text, "probA", std::vector{*model.noise_scale});
  text += "SV\n";
  for (index_t i = 0; i < model.support_vectors.rows; ++i) append_support_vector(text, model, i);
  return text;
}

} // namespace maxmargin
