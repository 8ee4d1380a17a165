#include "maxmargin/svm/dual_fit.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/dual/block_smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace maxmargin {
namespace {

// The largest errors that float32 values may be expected to leave in the objectives of the
// certificate: a third of those that it allows.
constexpr double kDualShare = 3e-7;
constexpr double kGapShare = 0.03;
constexpr double kToleranceShare = 3e-4;
constexpr double kDriftShare = 1e-9; // and float64 ones, relative

// Rounding in float64 shows in more than this share of the primal objective.
constexpr double kShownChange = 1e-7;
// Slopes of losses, on the average of samples, below which rounding under the tolerance is not
// counted in the primal objective: to find it takes as long as the fit of reuters_acq_bigram.
constexpr double kLargeBound = 20.0;

constexpr double kRounding = std::numeric_limits<double>::epsilon();

// float32 values serve where their errors sum up to less than this over so many support vectors.
constexpr double kLargestError = 5e-4;
constexpr index_t kUsualSupport = 1000;

template <Real T> StoredPair<T>& of_type(KernelOptions::Memory& memory) {
  if constexpr (std::is_same_v<T, float>)
    return memory.float32;
  else
    return memory.float64;
}

} // namespace

DualFit::DualFit(const Formulation& formulation, dual::DualProblem& problem,
                 const KernelSource& source, const dual::SolverOptions& options, Control& control,
                 PathPoint* path)
    : formulation_(formulation), problem_(problem), options_(options), control_(control),
      exact_(source.samples.exact_sums(source.segments, source.options.threads)),
      begin_(control.seconds()), value_error_(source.options.float32_error),
      is_float32_(source.options.in_float32),
      sum_(std::accumulate(problem_.start.begin(), problem_.start.end(), 0.0)) {
  if (path != nullptr && !path->beta.empty()) start_at(*path);
  if (is_float32_) {
    try {
      solve_in<float>(source);
      is_float32_ = solution_.stop_reason != optim::StopReason::imprecise;
      problem_.start.assign(solution_.beta.begin(), solution_.beta.end());
    } catch (const NumericError&) { // values beyond the range of float32
      is_float32_ = false;
    }
    problem_.start_sums.clear();
    problem_.start_step = 0.0;
  }
  if (!is_float32_) solve_in<double>(source);
  beta_.assign(solution_.beta.begin(), solution_.beta.begin() + formulation_.n_columns());
  if (formulation_.is_duplicated())
    for (std::size_t i = 0; i < beta_.size(); ++i) beta_[i] += solution_.beta[beta_.size() + i];
  if (!formulation_.is_duplicated()) return;
  // The offset goes by what is free of the model's own, without what two variables have in common.
  for (index_t v = 0; v < problem_.size(); ++v) solution_.beta[v] = coefficient(v);
  if (!solution_.is_inexact) find_intervals();
}

// At the best multiple, within the bounds, of its coefficients: up to the first bound, the objective
// is a parabola of the factor.
void DualFit::start_at(PathPoint& point) {
  double product = 0.0, square = 0.0, scale = HUGE_VAL;
  const auto bound_of = [&](index_t i) {
    return point.beta[i] > 0.0 ? problem_.upper[i] : -problem_.lower[i];
  };
  const index_t n = std::ssize(point.beta);
  for (index_t i = 0; i < n; ++i) {
    const double beta = point.beta[i];
    if (beta == 0.0) continue;
    product += problem_.linear[i] * beta;
    square += beta * (point.sums[i] + (problem_.ridge.empty() ? 0.0 : problem_.ridge[i] * beta));
    scale = std::min(scale, bound_of(i) / std::abs(beta));
  }
  if (-product < scale * square) scale = std::max(0.0, -product / square);
  point.scale = std::isfinite(scale) ? scale : 1.0;
  problem_.start.assign(point.beta.size(), 0.0);
  for (index_t i = 0; i < n; ++i) {
    if (point.beta[i] == 0.0) continue;
    const double beta = point.scale * point.beta[i], bound = bound_of(i);
    const bool is_bounded = std::abs(beta) >= (1.0 - dual::kBoundTolerance) * bound;
    problem_.start[i] = is_bounded ? std::copysign(bound, beta) : beta;
  }
  if (!point.is_exact && !is_float32_) return;
  for (const double sum : point.sums) problem_.start_sums.push_back(point.scale * sum);
  problem_.start_step = point.scale * point.total_step;
}

PathPoint DualFit::point() const {
  PathPoint point{beta_, {}, solution_.total_step, !is_float32_};
  for (index_t i = 0; i < formulation_.n_columns(); ++i) point.sums.push_back(kernel_sum(i));
  return point;
}

template <Real T> void DualFit::solve_in(const KernelSource& source) {
  const KernelOptions& options = source.options;
  std::unique_ptr<KernelRows<T>> rows;
  const T* stored = nullptr;
  if (options.whole_matrix != nullptr && source.samples.may_store<T>()) {
    StoredPair<T>& pair = of_type<T>(*options.whole_matrix);
    rows = source.samples.stored_rows<T>(source.segments, options.threads, pair);
    stored = std::get<DenseView<T>>(pair.view).data;
  } else {
    rows = source.samples.rows<T>(source.segments, options.threads);
  }
  const auto variables = formulation_.is_duplicated() ? Variables::duplicated : Variables::single;
  KernelMatrix<T> matrix(std::move(rows), options.cache_bytes, options.threads, control_, variables,
                         stored);
  matrix.set_square_from_rows(options.is_only_machine);
  dual::SolverOptions left = options_;
  if (left.max_iter >= 0) left.max_iter -= certificate_.n_iter;
  try {
    solution_ = solve(problem_, matrix, left, control_, &exact_);
  } catch (const NumericError&) {
    count_work(matrix);
    throw;
  }
  certificate_.n_iter += solution_.n_iter;
  count_work(matrix);
}

template <Real T> void DualFit::count_work(const KernelMatrix<T>& matrix) {
  certificate_.kernel_rows += static_cast<index_t>(matrix.rows_computed());
  certificate_.kernel_values += matrix.values_computed();
  certificate_.cache_hits += static_cast<index_t>(matrix.cache_hits());
  certificate_.cache_misses += static_cast<index_t>(matrix.cache_misses());
}

double DualFit::coefficient(index_t variable) const {
  if (!formulation_.is_duplicated()) return beta_[variable];
  const index_t n = formulation_.n_columns();
  const double beta = beta_[variable < n ? variable : variable - n];
  return beta * formulation_.sign_of(variable) > 0.0 ? beta : 0.0;
}

dual::PerGroup<double> DualFit::multipliers() const {
  dual::PerGroup<double> by_group;
  for (std::size_t g = 0; g < solution_.intervals.size(); ++g)
    by_group.push_back(dual::multiplier_of(solution_, problem_, g));
  return by_group;
}

Offset DualFit::offset() const {
  return formulation_.offset_of(multipliers());
}

double DualFit::kernel_sum(index_t variable) const {
  const double with_ridge = solution_.gradient[variable] - problem_.linear[variable];
  return with_ridge - ridge_times_beta(variable);
}

double DualFit::ridge_times_beta(index_t variable) const {
  return problem_.ridge.empty() ? 0.0 : problem_.ridge[variable] * solution_.beta[variable];
}

Objectives DualFit::objectives_at(const Offset& offset, double tolerance) const {
  const Formulation& f = formulation_;
  const index_t n = f.n_columns();
  Objectives o{.tolerance = tolerance};
  double ridge = 0.0, product = 0.0, losses = 0.0, size = 0.0;
  for (index_t i = 0; i < n; ++i) {
    if (f.C[i] == 0.0) continue;
    const double beta = beta_[i];
    // Of two, the gradient of one that is not zero is the more precise.
    const double sum = kernel_sum(f.is_duplicated() && beta < 0.0 ? n + i : i);
    const double slope = f.loss == Loss::hinge ? f.C[i] : std::abs(beta);
    o.quadratic += beta * sum;
    product += f.target_of(i) * beta;
    const double excess = f.excess_of(i, sum - offset.rho, offset.width);
    losses += f.loss_of(i, excess);
    ridge += ridge_times_beta(i) * beta;
    o.square += beta * beta;
    if (beta != 0.0) o.slopes += slope * slope;
    o.magnitude += std::abs(beta);
    const bool is_square = f.loss == Loss::squared_hinge;
    const double steepness = is_square ? std::max(slope, 2.0 * f.C[i] * excess) : slope;
    if (excess > -tolerance) o.steepness += steepness;
    o.largest_steepness += steepness;
    if (is_square) o.curvature += f.C[i];
    size += std::abs(beta * sum);
  }
  // A sum of squares that is zero but for rounding may come out below.
  if (o.quadratic < 0.0 && -o.quadratic <= kRounding * size) o.quadratic = 0.0;
  const double width = f.has_free_width() ? 0.0 : f.width;
  o.dual = 0.5 * (o.quadratic + ridge) - product + width * o.magnitude;
  o.primal = 0.5 * o.quadratic + losses + f.price_of(offset);
  return o;
}

Certificate DualFit::certify(const std::function<Objectives()>& evaluate) {
  Objectives objectives = evaluate();
  const bool of_all = show_drift(objectives);
  if (of_all || (solution_.is_inexact && !(is_float32_ && are_accurate(objectives)))) {
    refine_gradient(of_all);
    objectives = evaluate();
  }
  certificate_.dual_objective = objectives.dual;
  certificate_.primal_objective = objectives.primal;
  certificate_.kkt_violation = solution_.kkt_violation();
  // Where the coefficients do not sum up to what is their most, the width should be 0.
  const bool has_slack = objectives.magnitude < (1.0 - kDriftShare) * formulation_.sum;
  if (formulation_.is_duplicated() && formulation_.has_free_width() && has_slack)
    certificate_.kkt_violation = std::max(certificate_.kkt_violation, offset().width);
  bool is_finite = std::isfinite(objectives.primal);
  for (const double multiplier : multipliers()) is_finite = is_finite && std::isfinite(multiplier);
  if (!is_finite) throw NumericError("kernel values overflow");
  count_support();
  certificate_.stop_reason = solution_.stop_reason;
  count_rounding(objectives);
  certificate_.kernel_values += exact_.values_computed();
  certificate_.seconds = control_.seconds() - begin_;
  return certificate_;
}

void DualFit::count_support() {
  certificate_.n_free = certificate_.n_bounded = 0;
  // The sum of two variables is rounded.
  const double share = formulation_.is_duplicated() ? 1.0 - dual::kBoundTolerance : 1.0;
  for (std::size_t i = 0; i < beta_.size(); ++i) {
    if (beta_[i] == 0.0) continue;
    const bool is_free =
        formulation_.loss != Loss::hinge ||
        std::abs(beta_[i]) < share * formulation_.share_of(beta_[i]) * formulation_.C[i];
    ++(is_free ? certificate_.n_free : certificate_.n_bounded);
  }
}

// The rounding of sums counts as a violation, and in the dual objective, where it exceeds the
// tolerance, and in the primal one, whose losses bounds multiply, where it shows.
void DualFit::count_rounding(const Objectives& o) {
  const auto slope_for = [&](double error) {
    return 0.5 * (0.5 * o.magnitude + o.steepness_for(error));
  };
  const double gap = o.primal + o.dual;
  const double least_change =
      std::max(kGapShare * gap, kShownChange * std::abs(o.primal)) / slope_for(0.0);
  const bool are_large = o.largest_steepness > kLargeBound * static_cast<double>(std::ssize(beta_));
  const double shown = are_large ? std::min(o.tolerance, least_change) : o.tolerance;
  const auto [of_sums, of_total] = exact_.rounding_error(beta_, sum_, shown);
  const double moved = of_sums + of_total;
  if (moved > o.tolerance) {
    certificate_.kkt_violation += moved;
    double& dual = certificate_.dual_objective;
    const bool has_positive_primal = formulation_.is_duplicated() || formulation_.sum == 0.0;
    const double most = has_positive_primal && dual < 0.0 ? 0.0 : HUGE_VAL;
    dual = std::min(dual + 0.25 * moved * o.magnitude, most);
  }
  if (of_sums > std::max(shown, least_change))
    certificate_.primal_objective += of_sums * (slope_for(of_sums) + 0.25 * o.curvature * of_sums);
  // By what the model is: a fit may have been stopped when it was there, or be worse than it seemed.
  const bool is_below = certificate_.kkt_violation < options_.tol;
  if (is_below)
    certificate_.stop_reason = optim::StopReason::converged;
  else if (certificate_.stop_reason == optim::StopReason::converged)
    certificate_.stop_reason = optim::StopReason::stalled;
}

// Errors of the kernel values add up like a random walk, in K beta and again in the sums over it,
// of beta (K beta)_i in the quadratic form and of C (K beta)_i in the losses. The violations that
// the tolerance admits make a gap of up to tol sum |beta|; of that, little is enough.
bool DualFit::are_accurate(const Objectives& o) const {
  const double gap = std::abs(o.primal + o.dual);
  return value_error_ * o.square <= kDualShare * std::abs(o.dual) &&
         value_error_ * std::sqrt(o.square * o.slopes) <=
             std::max(kGapShare * gap, kToleranceShare * options_.tol * o.magnitude);
}

// Updates leave the gradient off by a little of the tolerance, which a loss multiplies by C.
bool DualFit::show_drift(const Objectives& o) const {
  const double gap = o.primal + o.dual;
  if (formulation_.loss != Loss::hard_margin && gap < -kDualShare * std::abs(o.dual)) return true;
  const double little =
      std::min(kToleranceShare * options_.tol * o.magnitude, kShownChange * std::abs(o.primal));
  return !is_float32_ && solution_.drift * o.steepness_for(solution_.drift) >
                             std::max({kGapShare * gap, kDriftShare * std::abs(o.primal), little});
}

void DualFit::refine_gradient(bool of_all) {
  const index_t n = formulation_.n_columns(), n_variables = problem_.size();
  std::vector<index_t> targets, rows;
  std::vector<double> coef;
  for (index_t i = 0; i < n; ++i)
    if (of_all ? formulation_.C[i] > 0.0 : beta_[i] != 0.0) targets.push_back(i);
  for (index_t v = 0; v < n_variables; ++v) {
    if (coefficient(v) == 0.0) continue;
    rows.push_back(v);
    coef.push_back(coefficient(v));
  }
  const std::vector<double> sums = exact_.evaluate(targets, rows, coef);
  for (std::size_t k = 0; k < targets.size(); ++k)
    for (index_t v = targets[k]; v < n_variables; v += n)
      solution_.gradient[v] = problem_.linear[v] + (sums[k] + ridge_times_beta(v));
  if (of_all) find_intervals();
}

// By the gradient and the coefficients of the model.
void DualFit::find_intervals() {
  for (std::size_t g = 0; g < problem_.n_groups(); ++g) {
    dual::Interval& ends = solution_.intervals[g] = {-HUGE_VAL, HUGE_VAL};
    const dual::Group group = problem_.group(g);
    for (index_t v = group.begin; v < group.end; ++v) {
      const double descent = -solution_.gradient[v];
      if (coefficient(v) < problem_.upper[v]) ends.up = std::max(ends.up, descent);
      if (coefficient(v) > problem_.lower[v]) ends.low = std::min(ends.low, descent);
    }
  }
}

Machine train(const Formulation& formulation, const KernelSource& source,
              const dual::SolverOptions& options, Control& control, PathPoint* path) {
  dual::DualProblem problem = dual_of(formulation);
  DualFit fit(formulation, problem, source, options, control, path);
  require(fit.solution().stop_reason != optim::StopReason::unbounded,
          formulation.loss == Loss::hard_margin
              ? "C=inf, the hard margin, needs classes that can be separated by this kernel, which "
                "must be positive semidefinite, and these cannot: use a finite C or another kernel"
              : "the squared hinge loss needs a positive semidefinite kernel, and this one is "
                "not: the objective has no least value");
  Offset offset;
  Machine machine;
  const auto evaluate = [&] {
    offset = fit.offset();
    return fit.objectives_at(offset, options.tol);
  };
  machine.certificate = fit.certify(std::ref(evaluate)); // which takes no memory
  if (path != nullptr) {
    const double scale = path->scale;
    *path = fit.point();
    path->scale = scale;
  }
  machine.beta = fit.take_beta();
  machine.rho = offset.rho;
  if (formulation.has_free_width()) machine.equivalent = offset.width;
  return machine;
}

bool float32_suffices(double value_error, double largest_bound, index_t n) {
  if (n < kSmallestFloat32) return false;
  const double n_support = static_cast<double>(std::min(n, kUsualSupport));
  return value_error * largest_bound * std::sqrt(n_support) <= kLargestError;
}

KernelOptions kernel_options_for(const TrainingSamples& samples, index_t n, double largest_bound,
                                 const TrainingOptions& options) {
  KernelOptions kernel{options.cache_bytes, options.threads};
  const bool is_automatic = options.precision == Precision::automatic;
  if (options.precision == Precision::float64 ||
      (is_automatic && (n < kSmallestFloat32 || samples.needs_float64())))
    return kernel;
  kernel.float32_error = samples.float32_error();
  kernel.in_float32 = !is_automatic || float32_suffices(kernel.float32_error, largest_bound, n);
  return kernel;
}

} // namespace maxmargin
