#include "maxmargin/model/linear/liblinear_file.hpp"

#include "maxmargin/model/keyword_lines.hpp"

#include <set>
#include <utility>

namespace maxmargin {
namespace {

struct SolverName {
  int solver;
  std::string_view name;
};

constexpr SolverName kSolvers[] = {
    {kLogistic, "L2R_LR"},
    {kSquaredHingeDual, "L2R_L2LOSS_SVC_DUAL"},
    {kSquaredHinge, "L2R_L2LOSS_SVC"},
    {kHingeDual, "L2R_L1LOSS_SVC_DUAL"},
    {kCrammerSinger, "MCSVM_CS"},
    {kSquaredHingeL1, "L1R_L2LOSS_SVC"},
    {kLogisticL1, "L1R_LR"},
    {kLogisticDual, "L2R_LR_DUAL"},
    {kSquaredRegression, "L2R_L2LOSS_SVR"},
    {kSquaredRegressionDual, "L2R_L2LOSS_SVR_DUAL"},
    {kRegressionDual, "L2R_L1LOSS_SVR_DUAL"},
    {kLinearOneClass, "ONECLASS_SVM"},
};
constexpr std::string_view kKeywords[] = {"solver_type", "nr_class", "label",
                                          "nr_feature",  "bias",     "rho"};

LiblinearFile read_header(const KeywordLines& header) {
  LiblinearFile file;
  const std::string_view name = header.word("solver_type");
  const auto* const solver = std::ranges::find(kSolvers, name, &SolverName::name);
  header.check(solver != std::end(kSolvers), "solver_type",
               quoted(name) + " is none of LIBLINEAR's");
  file.solver = solver->solver;
  file.n_classes = header.number<index_t>("nr_class");
  if (has_liblinear_classes(file.solver)) {
    file.labels = header.numbers<std::int32_t>("label");
    header.check(!file.labels.empty() && std::ssize(file.labels) == file.n_classes, "label",
                 "must have nr_class numbers, at least one");
    header.check(std::set(file.labels.begin(), file.labels.end()).size() == file.labels.size(),
                 "label", "must not name a class twice");
  } else {
    header.check(file.n_classes == 2, "nr_class", "must be 2 where there are no classes");
  }
  file.n_features = header.number<index_t>("nr_feature");
  header.check(file.n_features >= 0 && file.n_features < std::numeric_limits<std::int32_t>::max(),
               "nr_feature", "must be a number from 0 to 2147483646");
  file.bias = header.number<double>("bias");
  if (file.solver == kLinearOneClass) file.rho = header.number<double>("rho");
  return file;
}

} // namespace

bool is_liblinear_solver(int solver) {
  return std::ranges::find(kSolvers, solver, &SolverName::solver) != std::end(kSolvers);
}

LiblinearFile read_liblinear(std::string_view text) {
  TextLines lines(text);
  LiblinearFile file = read_header(KeywordLines(lines, "LIBLINEAR", kKeywords, "w"));
  index_t n_rows = 0;
  for (std::string_view line; lines.next(line);) {
    skip_blanks(line);
    if (line.empty()) continue;
    if (n_rows++ == file.n_weights()) fail_at_line(lines.number(), "more weights than features");
    if (!lines.is_ended()) fail_at_line(lines.number(), "the text ends within a line");
    take_reals(lines, line, file.n_functions(), "weights", file.w);
    if (!line.empty()) fail_at_line(lines.number(), "more weights than functions", line);
  }
  if (n_rows < file.n_weights())
    fail_at_line(lines.number(), "the text ends after the weights of " + std::to_string(n_rows) +
                                     " of " + std::to_string(file.n_weights()) + " features");
  return file;
}

std::string write_liblinear(const LiblinearFile& file) {
  std::string text = "solver_type ";
  text += std::ranges::find(kSolvers, file.solver, &SolverName::solver)->name;
  text += '\n';
  append_line(text, "nr_class", std::vector{file.n_classes});
  if (!file.labels.empty()) append_line(text, "label", file.labels);
  append_line(text, "nr_feature", std::vector{file.n_features});
  append_line(text, "bias", std::vector{file.bias});
  if (file.solver == kLinearOneClass) append_line(text, "rho", std::vector{file.rho});
  text += "w\n";
  for (auto weight = file.w.begin(); weight != file.w.end(); text += '\n')
    for (index_t k = 0; k < file.n_functions(); ++k) {
      append_real(text, *weight++);
      text += ' ';
    }
  return text;
}

bool is_linear_model(std::string_view text) {
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    skip_blanks(line);
    const std::string_view keyword = first_token(line);
    if (keyword == "solver_type") return true;
    if (keyword == "svm_type" || keyword == "SV" || keyword == "w") return false;
  }
  return false;
}

// The value 0 of two classes is one of the second, here as there, so that signs change. The two
// functions of Crammer and Singer's machine are each other's negative.
LabelledLinearModel read_linear_model(std::string_view text) {
  const LiblinearFile file = read_liblinear(text);
  require(file.solver != kLinearOneClass, "the model is a linear one-class machine");
  const bool has_classes = has_liblinear_classes(file.solver), is_pair = file.n_classes == 2;
  require(file.n_classes >= 2, "nr_class must be at least 2, got 1");
  const index_t n_functions = file.n_functions(), n_own = is_pair ? 1 : n_functions;
  LinearModelParts parts;
  parts.n_features = file.n_features;
  parts.n_classes = has_classes ? file.n_classes : 0;
  const auto weight = [&](index_t j, index_t k) {
    const double* const row = file.w.data() + j * n_functions;
    if (!has_classes || !is_pair) return row[k];
    return n_functions == 2 ? -2.0 * row[0] : -row[0];
  };
  for (index_t k = 0; k < n_own; ++k) {
    for (index_t j = 0; j < file.n_features; ++j) parts.coef.push_back(weight(j, k));
    parts.intercept.push_back(file.bias >= 0.0 ? file.bias * weight(file.n_features, k) : 0.0);
  }
  return {LinearModel(std::move(parts)), {file.labels.begin(), file.labels.end()}};
}

std::string write_linear_model(const LinearModel& model, const std::vector<double>& labels) {
  const LinearModelParts& parts = model.parts();
  const bool has_classes = parts.n_classes > 0;
  require(std::ssize(labels) == parts.n_classes, "labels must have n_classes elements");
  LiblinearFile file;
  file.solver = has_classes ? kSquaredHinge : kSquaredRegression;
  file.n_classes = has_classes ? parts.n_classes : 2;
  file.labels = integer_labels(labels, "LIBLINEAR");
  file.n_features = parts.n_features;
  file.bias = 1.0;
  const double sign = parts.n_classes == 2 ? -1.0 : 1.0;
  for (index_t j = 0; j < file.n_weights(); ++j)
    for (index_t k = 0; k < parts.n_functions(); ++k)
      file.w.push_back(sign * (j < parts.n_features ? parts.coef[k * parts.n_features + j]
                                                    : parts.intercept[k]));
  return write_liblinear(file);
}

} // namespace maxmargin
