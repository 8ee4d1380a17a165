#include "c/handles.hpp"
#include "c/option_table.hpp"
#include "maxmargin/online/online_fit.hpp"
#include "maxmargin/svm/linear/linear_training.hpp"
#include "maxmargin/svm/one_vs_one.hpp"
#include "maxmargin/svm/single_machine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

namespace maxmargin::c {
namespace {

// The options of one estimator, all of which are in their ranges.
class Reader {
 public:
  explicit Reader(const mm_options& options) : options_(options) {}

  double real(const char* name) const { return number_of(options_, name); }
  index_t integer(const char* name) const { return static_cast<index_t>(real(name)); }
  bool flag(const char* name) const { return real(name) != 0.0; }
  int threads() const { return threads_of(&options_); }
  std::uint64_t seed() const { return static_cast<std::uint64_t>(real("random_state")); }
  std::size_t choice(const char* name) const { return choice_of(options_, name); }

 private:
  const mm_options& options_;
};

KernelParams kernel_of(const mm_options& set, const Reader& options, index_t n_features) {
  KernelParams kernel;
  kernel.type = static_cast<KernelType>(
      std::ranges::find(kKernelNames, word_of(set, "kernel"), &KernelName::name) -
      kKernelNames.begin());
  const double gamma = options.real("gamma");
  kernel.gamma = std::isnan(gamma) ? 1.0 / static_cast<double>(n_features) : gamma;
  kernel.coef0 = options.real("coef0");
  kernel.degree = static_cast<int>(options.integer("degree"));
  return kernel;
}

TrainingOptions training_of(const Reader& options) {
  TrainingOptions training;
  training.solver.tol = options.real("tol");
  training.solver.max_iter = options.integer("max_iter");
  training.solver.shrinking = options.flag("shrinking");
  training.solver.time_limit = options.real("time_limit");
  training.cache_bytes =
      static_cast<std::size_t>(options.real("cache_size") * static_cast<double>(1 << 20));
  training.threads = options.threads();
  return training;
}

// Labels as numbers of classes.
struct Classes {
  Classes(std::span<const double> y, std::span<const double> weight) : labels(y.begin(), y.end()) {
    std::ranges::sort(labels);
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    require(labels.size() >= 2,
            "y must hold at least two classes, got " + std::to_string(labels.size()));
    std::vector<double> total(labels.size(), 0.0);
    for (std::size_t i = 0; i < y.size(); ++i) {
      codes.push_back(std::ranges::lower_bound(labels, y[i]) - labels.begin());
      total[static_cast<std::size_t>(codes.back())] += weight[i];
    }
    for (std::size_t c = 0; c < labels.size(); ++c)
      require(total[c] > 0.0,
              "weight must leave every class a row, class " + text_of(labels[c]) + " has none");
  }

  std::vector<double> labels;
  std::vector<std::int64_t> codes;
};

std::vector<double> weights_by_class(const mm_options& options, std::size_t n_classes) {
  if (options.class_weight.empty()) return std::vector<double>(n_classes, 1.0);
  require(options.class_weight.size() == n_classes,
          "class_weight must have an element for each of the " + std::to_string(n_classes) +
              " classes, got " + std::to_string(options.class_weight.size()));
  return options.class_weight;
}

// What ended a training, as the log names it.
constexpr std::string_view kNoChange = "n_iter_no_change";

std::string_view end_of(optim::StopReason reason) {
  if (reason == optim::StopReason::stalled) return "rounding";
  if (reason == optim::StopReason::imprecise) return "inexact kernel values";
  if (reason == optim::StopReason::unbounded) return "an objective without a least value";
  return optim::kStopReasonNames[static_cast<std::size_t>(reason)];
}

mm_model::Proof proof_of(const Certificate& certificate) {
  return {{{"primal_objective", certificate.primal_objective},
           {"dual_objective", -certificate.dual_objective},
           {"duality_gap", certificate.primal_objective + certificate.dual_objective},
           {"kkt_violation", certificate.kkt_violation},
           {"n_iter", static_cast<double>(certificate.n_iter)},
           {"seconds", certificate.seconds},
           {"converged", certificate.stop_reason == optim::StopReason::converged ? 1.0 : 0.0}},
          end_of(certificate.stop_reason)};
}

mm_model::Proof proof_of(const linear::LinearOutcome& outcome) {
  return {{{"primal_objective", outcome.primal_objective},
           {"dual_objective", -outcome.dual_objective},
           {"duality_gap", outcome.duality_gap()},
           {"n_iter", static_cast<double>(outcome.n_iter)},
           {"seconds", outcome.seconds},
           {"converged", outcome.stop_reason == optim::StopReason::converged ? 1.0 : 0.0}},
          end_of(outcome.stop_reason)};
}

// The proofs of several functions, or one of all together for each of them.
template <class Outcomes>
std::vector<mm_model::Proof> proofs_of(const Outcomes& outcomes, index_t n_functions) {
  std::vector<mm_model::Proof> proofs;
  for (index_t k = 0; k < std::ssize(outcomes); ++k) proofs.push_back(proof_of(outcomes[k]));
  proofs.resize(static_cast<std::size_t>(n_functions), proofs.front());
  return proofs;
}

mm_model kernel_machine(const mm_options& set, const Reader& options, const MatrixView& X,
                        std::span<const double> y, std::vector<double> weight, Control& control) {
  const KernelParams kernel = kernel_of(set, options, n_cols(X));
  const TrainingOptions training = training_of(options);
  const bool has_nu = set.estimator == "nu_svc" || set.estimator == "nu_svr";
  const auto finished = [](KernelFit fit, std::vector<double> labels) {
    const auto n = fit.model.parts().n_machines();
    std::vector<mm_model::Proof> proofs = proofs_of(fit.certificates, n);
    return mm_model{std::move(fit.model), std::move(labels), std::move(proofs)};
  };
  if (set.estimator == "svc" || set.estimator == "nu_svc") {
    Classes classes(y, weight);
    const std::vector<double> by_class = weights_by_class(set, classes.labels.size());
    SvcOptions svc{training, {}, Loss::hinge, {}};
    if (has_nu)
      svc.nu = options.real("nu");
    else
      svc.loss = options.choice("loss") == 0 ? Loss::hinge : Loss::squared_hinge;
    for (std::size_t i = 0; i < weight.size(); ++i)
      weight[i] *= by_class[static_cast<std::size_t>(classes.codes[i])];
    if (!has_nu)
      for (double& w : weight) w = w > 0.0 ? w * options.real("C") : 0.0;
    KernelFit fit = train_one_vs_one(X, classes.codes, std::ssize(classes.labels), weight, kernel,
                                     svc, control);
    return finished(std::move(fit), std::move(classes.labels));
  }
  if (set.estimator == "one_class")
    return finished(train_one_class(X, weight, options.real("nu"), kernel, training, control), {});
  for (double& w : weight) w = w > 0.0 ? w * options.real("C") : 0.0;
  return finished(has_nu
                      ? train_nu_svr(X, y, weight, options.real("nu"), kernel, training, control)
                      : train_svr(X, y, weight, options.real("epsilon"), kernel, training, control),
                  {});
}

mm_model linear_machine(const mm_options& set, const Reader& options, const MatrixView& X,
                        std::span<const double> y, std::span<const double> weight,
                        Control& control) {
  const bool is_classifier = set.estimator == "linear_svc";
  const std::size_t loss = options.choice("loss");
  linear::LinearFormulation formulation;
  formulation.loss = static_cast<linear::LinearLoss>(loss + (is_classifier ? 0 : 2));
  if (is_classifier && options.choice("penalty") == 1) {
    require(loss == 1, "penalty l1 needs loss squared_hinge, got hinge");
    formulation.penalty = linear::Penalty::l1;
  }
  formulation.epsilon = is_classifier ? 0.0 : options.real("epsilon");
  formulation.intercept_scaling =
      options.flag("fit_intercept") ? options.real("intercept_scaling") : 0.0;
  linear::LinearOptions training;
  training.tol = options.real("tol");
  training.max_iter = options.integer("max_iter");
  training.time_limit = options.real("time_limit");
  training.seed = options.seed();
  training.threads = options.threads();
  const double C = options.real("C");
  std::vector<double> labels;
  std::vector<LinearTraining> trained;
  if (is_classifier) {
    Classes classes(y, weight);
    const std::vector<double> by_class = weights_by_class(set, classes.labels.size());
    const linear::ClassSamples samples{X, classes.codes, weight, by_class, {}, 0};
    trained = train_linear_classifier(samples, {&C, 1}, formulation, training, control);
    labels = std::move(classes.labels);
  } else {
    trained = train_linear_regression(X, y, weight, {&C, 1}, formulation, training, control);
  }
  LinearTraining& only = trained.front();
  std::vector<mm_model::Proof> proofs = proofs_of(only.outcomes, only.model.parts().n_functions());
  return {std::move(only.model), std::move(labels), std::move(proofs)};
}

// The first step of Bottou's rule ends where w is expected, alpha^(-1/4) away.
online::StepSize optimal_steps(double alpha, bool is_squared) {
  const double length = std::pow(alpha, -0.25), slope = is_squared ? 2.0 * (1.0 + length) : 1.0;
  return online::StepSize::inverse_time(alpha, std::max(0.0, slope / (length * alpha) - 1.0));
}

online::StepSize steps_of(const Reader& options, bool is_squared) {
  const std::size_t rate = options.choice("learning_rate");
  const double alpha = options.real("alpha"), eta0 = options.real("eta0");
  require(rate > 1 || alpha > 0.0,
          "alpha must be above 0 with learning_rate optimal or pegasos, got " + text_of(alpha));
  if (rate == 0) return optimal_steps(alpha, is_squared);
  if (rate == 1) return online::StepSize::inverse_time(alpha, 0.0);
  if (rate == 2) return online::StepSize::constant(eta0);
  if (rate == 3) return online::StepSize::adaptive(eta0);
  return online::StepSize::power(eta0, options.real("power_t"));
}

// What subgradient training and the perceptron have in common, and what not.
online::OnlineSettings online_settings(const Reader& options, bool is_perceptron) {
  online::OnlineSettings settings;
  const double alpha = options.real("alpha");
  const double shares[] = {0.0, 0.0, 1.0, options.real("l1_ratio")}; // of l1, by penalty
  const std::size_t penalty = options.choice("penalty");
  if (penalty > 0) settings.penalty = {alpha * (1.0 - shares[penalty]), alpha * shares[penalty]};
  settings.fit_intercept = options.flag("fit_intercept");
  settings.average_from = options.integer("average");
  settings.passes.max_iter = options.integer("max_iter");
  settings.passes.tol = options.real("tol");
  settings.passes.n_iter_no_change = options.integer("n_iter_no_change");
  settings.passes.shuffle = options.flag("shuffle");
  settings.passes.seed = options.seed();
  settings.threads = options.threads();
  if (is_perceptron) {
    settings.step = online::StepSize::constant(options.real("eta0"));
    return settings;
  }
  const std::size_t loss = options.choice("loss");
  settings.loss = {.margin = loss == 2 ? 0.0 : 1.0, .is_squared = loss == 1};
  settings.step = steps_of(options, loss == 1);
  settings.follows_loss = true;
  settings.batch_size = options.integer("batch_size");
  return settings;
}

mm_model online_machine(const mm_options& set, const Reader& options, const MatrixView& X,
                        std::span<const double> y, std::span<const double> weight,
                        Control& control) {
  Classes classes(y, weight);
  const index_t n_classes = std::ssize(classes.labels), n_functions = n_classes > 2 ? n_classes : 1;
  // Each class against the rest; of two, the second.
  std::vector<std::int64_t> positive(static_cast<std::size_t>(n_functions), 1);
  if (n_classes > 2) std::iota(positive.begin(), positive.end(), 0);
  const std::vector<double> by_class = weights_by_class(set, classes.labels.size());
  std::vector<double> factors; // of the rest and of the positive class, by function
  for (const std::int64_t c : positive)
    factors.insert(factors.end(),
                   {n_classes > 2 ? 1.0 : by_class[0], by_class[static_cast<std::size_t>(c)]});

  const bool is_perceptron = set.estimator == "perceptron";
  const online::OnlineSettings settings = online_settings(options, is_perceptron);
  const online::OnlineData data{X, classes.codes, weight, {}, factors, positive};
  const online::OnlineResult result = online::fit_online(data, settings, nullptr, control);
  LinearModel model = model_of(result.states, n_classes);

  std::vector<mm_model::Proof> proofs;
  for (const optim::MistakeRecord& record : result.records) {
    const bool is_done =
        is_perceptron ? record.is_separated
                      : record.is_stalled || (record.is_separated && settings.penalty.is_none());
    proofs.push_back({{{"n_iter", static_cast<double>(record.mistakes_per_pass.size())},
                       {"converged", is_done ? 1.0 : 0.0}},
                      record.is_stalled ? kNoChange
                      : is_done         ? end_of(optim::StopReason::converged)
                                        : end_of(optim::StopReason::max_iter)});
  }
  if (!is_perceptron) {
    const std::vector<double> objective = online::online_objectives(
        data, settings, model.parts().coef, model.parts().intercept, control);
    for (std::size_t p = 0; p < proofs.size(); ++p)
      proofs[p].numbers["primal_objective"] = objective[p];
  }
  return {std::move(model), std::move(classes.labels), std::move(proofs)};
}

std::string rounded(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

// Whether a limit ended the training before it was done.
bool is_limited(const mm_model::Proof& proof) {
  return proof.numbers.at("converged") == 0.0 && proof.ended_by != kNoChange;
}

// Of the functions that options ended for want of progress, which is their own way to end.
void report_no_change(const mm_options& set, const std::vector<mm_model::Proof>& proofs) {
  std::vector<index_t> passes;
  for (const mm_model::Proof& proof : proofs)
    if (proof.ended_by == kNoChange)
      passes.push_back(static_cast<index_t>(proof.numbers.at("n_iter")));
  if (passes.empty()) return;
  const auto [fewest, most] = std::ranges::minmax(passes);
  log(set, MM_LOG_INFO,
      std::to_string(passes.size()) + " of " + std::to_string(proofs.size()) +
          " functions stopped by " + std::string(kNoChange) + " after " + std::to_string(fewest) +
          (fewest < most ? " to " + std::to_string(most) : "") + " passes");
}

// Of the functions that a limit ended.
void report_limits(const mm_options& set, const std::vector<mm_model::Proof>& proofs) {
  std::map<std::string_view, index_t> ends;
  index_t n_left = 0, worst = 0;
  double violation = -1.0;
  const char* const measure =
      proofs.front().numbers.contains("kkt_violation") ? "kkt_violation" : "duality_gap";
  for (index_t k = 0; k < std::ssize(proofs); ++k) {
    const mm_model::Proof& proof = proofs[static_cast<std::size_t>(k)];
    if (!is_limited(proof)) continue;
    ++n_left;
    ++ends[proof.ended_by];
    const auto found = proof.numbers.find(measure);
    if (found != proof.numbers.end() && found->second > violation)
      violation = found->second, worst = k;
  }
  if (n_left == 0) return;
  std::string text = std::to_string(n_left) + " of " + std::to_string(proofs.size()) +
                     " functions did not converge: ended by ";
  for (bool is_first = true; const auto& [end, n] : ends) {
    if (!std::exchange(is_first, false)) text += ", ";
    text += std::string(end) + (ends.size() > 1 ? " (" + std::to_string(n) + ")" : "");
  }
  if (violation >= 0.0)
    text += "; of function " + std::to_string(worst) + " the " + measure + " is " +
            rounded(violation) + ", tol " + rounded(number_of(set, "tol"));
  log(set, MM_LOG_WARNING, text);
}

void report(const mm_options& set, const mm_model& model, double seconds) {
  if (set.log == nullptr) return;
  const auto n_converged = std::ranges::count_if(model.proofs, [](const mm_model::Proof& proof) {
    return proof.numbers.at("converged") != 0.0;
  });
  log(set, MM_LOG_INFO,
      std::to_string(n_converged) + " of " + std::to_string(model.proofs.size()) +
          " functions converged, in " + rounded(seconds) + " seconds");
  report_no_change(set, model.proofs);
  report_limits(set, model.proofs);
}

} // namespace

void report_failure(const mm_options& set, const std::exception& error, double seconds) {
  const std::string after = " after " + rounded(seconds) + " seconds";
  if (dynamic_cast<const Cancelled*>(&error) != nullptr)
    log(set, MM_LOG_INFO, "cancelled" + after);
  else
    log(set, MM_LOG_WARNING, "failed" + after + ": " + error.what());
}

mm_model fit(const mm_options& set, const MatrixView& X, std::span<const double> y,
             std::span<const double> weight, Control& control) {
  const Reader options(set);
  std::vector<double> weights(weight.begin(), weight.end());
  if (weights.empty()) weights.assign(static_cast<std::size_t>(n_rows(X)), 1.0);
  require(n_rows(X) > 0, "X must have at least one row");
  check_numbers("y", y, Sign::any, "row");
  check_numbers("weight", weights, Sign::not_negative, "row");
  require(std::ranges::any_of(weights, [](double w) { return w > 0.0; }),
          "weight must be positive for a row");
  log(set, MM_LOG_INFO,
      std::to_string(n_rows(X)) + " rows x " + std::to_string(n_cols(X)) + " features, " +
          settings_of(set));
  mm_model model = set.estimator.starts_with("linear")
                       ? linear_machine(set, options, X, y, weights, control)
                   : set.estimator == "perceptron" || set.estimator == "sgd"
                       ? online_machine(set, options, X, y, weights, control)
                       : kernel_machine(set, options, X, y, std::move(weights), control);
  report(set, model, control.seconds());
  return model;
}

} // namespace maxmargin::c
