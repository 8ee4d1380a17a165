#include "maxmargin/model/model_io.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/model/class_order.hpp"
#include "maxmargin/model/keyword_lines.hpp"
#include "maxmargin/model/model_names.hpp"

#include <numeric>

namespace maxmargin {
namespace {

void append_kernel(std::string& text, const KernelParams& kernel) {
  const std::string_view name = names_of(kernel.type).libsvm;
  require(!name.empty(), "LIBSVM's model format does not know this kernel");
  text += "kernel_type ";
  text += name;
  text += '\n';
  if (uses_degree(kernel.type)) append_line(text, "degree", std::vector{kernel.degree});
  if (uses_gamma(kernel.type)) append_line(text, "gamma", std::vector{kernel.gamma});
  if (uses_coef0(kernel.type)) append_line(text, "coef0", std::vector{kernel.coef0});
}

// LIBSVM ends every coefficient and every entry with a blank.
void append_entry(std::string& text, index_t index, double value) {
  append_integer(text, index);
  text += ':';
  append_real(text, value);
  text += ' ';
}

void append_support_vectors(std::string& text, const KernelModelParts& model, index_t first_index,
                            Control& control) {
  const MatrixView vectors = view_of(model.support_vectors);
  const index_t n = n_rows(vectors);
  for (index_t i = 0; i < n; ++i) {
    control.poll();
    for (index_t row = 0; row < model.n_coef_rows(); ++row) {
      append_real(text, model.dual_coef[static_cast<std::size_t>(row * n + i)]);
      text += ' ';
    }
    for_nonzeros(vectors, i,
                 [&](index_t j, double value) { append_entry(text, j + first_index, value); });
    text += '\n';
  }
}

std::vector<double> class_numbers(index_t n_classes) {
  std::vector<double> numbers(static_cast<std::size_t>(n_classes));
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return numbers;
}

} // namespace

std::string write_model(const KernelModel& given, std::vector<double> labels) {
  Control control;
  return write_model(given, std::move(labels), control);
}

std::string write_model(const KernelModel& given, std::vector<double> labels, Control& control) {
  KernelModelParts model = given.parts();
  if (is_classifier(model.type)) {
    if (!labels.empty()) model.labels = std::move(labels);
    if (model.labels.empty()) model.labels = class_numbers(model.n_classes());
    require(std::ssize(model.labels) == model.n_classes(), "labels must have n_classes elements");
    model = with_class_order(model, model.vote_order);
  }
  return model_text(model, model.is_precomputed() ? 0 : 1, control);
}

std::string model_text(const KernelModelParts& model, index_t first_index) {
  Control control;
  return model_text(model, first_index, control);
}

std::string model_text(const KernelModelParts& model, index_t first_index, Control& control) {
  const bool has_classes = is_classifier(model.type);
  require(has_classes || model.n_machines() == 1,
          "LIBSVM's model format holds no regression of several quantiles");
  std::string text = "svm_type ";
  text += name_of(model.type);
  text += '\n';
  append_kernel(text, model.kernel);
  append_line(text, "nr_class", std::vector{has_classes ? model.n_classes() : index_t{2}});
  append_line(text, "total_sv", std::vector{model.n_support_vectors()});
  append_line(text, "rho", model.rho);
  if (has_classes) {
    append_line(text, "label", integer_labels(model.labels, "LIBSVM"));
    if (!model.prob_a.empty()) {
      append_line(text, "probA", model.prob_a);
      append_line(text, "probB", model.prob_b);
    }
    append_line(text, "nr_sv", model.n_support);
  }
  if (model.noise_scale) append_line(text, "probA", std::vector{*model.noise_scale});
  if (!model.density_marks.empty()) append_line(text, "prob_density_marks", model.density_marks);
  text += "SV\n";
  append_support_vectors(text, model, first_index, control);
  return text;
}

} // namespace maxmargin
