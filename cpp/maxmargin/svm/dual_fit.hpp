#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/dual/solution.hpp"
#include "maxmargin/kernel/kernel_matrix.hpp"
#include "maxmargin/svm/formulation.hpp"
#include "maxmargin/svm/machine.hpp"
#include "maxmargin/svm/training_samples.hpp"

#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace maxmargin {

// The kernel matrix that a machine is trained on: the columns of some segments of the samples.
struct KernelSource {
  const TrainingSamples& samples;
  std::span<const index_t> segments;
  const KernelOptions& options;
};

// The two objectives of a formulation at a solution of its dual, and the sums that bound how far
// rounding may have moved them.
struct Objectives {
  double dual = 0.0, primal = 0.0;
  double quadratic = 0.0; // beta' K beta = ||w||^2
  double square = 0.0;    // beta' beta
  double slopes = 0.0;    // the sum of squares of the losses' slopes over the support vectors
  double magnitude = 0.0; // sum |beta|
  // Of the losses: what an error of all f(x_i) makes of them at the most, and its square; such a one
  // is below `tolerance`, a violation that a solution may have, or of any size.
  double tolerance = 0.0;
  double steepness = 0.0, curvature = 0.0, largest_steepness = 0.0;

  double steepness_for(double error) const {
    return error <= tolerance ? steepness : largest_steepness;
  }
};

// A solution that the fit of the next problem along a path begins at: the same but for the bounds,
// with one group whose coefficients sum up to zero. Empty at the beginning.
struct PathPoint {
  std::vector<double> beta, sums; // by column; K beta
  double total_step = 0.0;        // dual::Solution
  bool is_exact = true;           // the sums: of float64 values
  double scale = 1.0;             // times the coefficients of the point before, the fit began
};

// Solves a dual problem, in float32 with refinement where the options say so, and certifies the
// solution.
class DualFit {
 public:
  // `problem` is dual_of(formulation), with any start, and takes another where float32 is given up
  // or a `path` has come to one. Both must outlive this.
  DualFit(const Formulation& formulation, dual::DualProblem& problem, const KernelSource& source,
          const dual::SolverOptions& options, Control& control, PathPoint* path = nullptr);

  const dual::Solution& solution() const { return solution_; }
  // By column. Of the two variables of a sample, what they have in common is taken off.
  std::vector<double> take_beta() { return std::move(beta_); }
  Offset offset() const;
  Objectives objectives_at(const Offset& offset, double tolerance) const;

  // Of one variable for each column.
  PathPoint point() const;

  double value_scale() { return exact_.value_scale(beta_); }

  // The certificate, with the objectives that `evaluate` finds at this fit. It may be called twice:
  // where the rounding of float32 values could show in its result, exact gradients are put in place
  // for the support vectors, which make up the objectives and the offset; where bounds are so large
  // that it could show in any loss, for all.
  Certificate certify(const std::function<Objectives()>& evaluate);

 private:
  void start_at(PathPoint& point);
  template <Real T> void solve_in(const KernelSource& source);
  template <Real T> void count_work(const KernelMatrix<T>& matrix);
  void count_support();
  void count_rounding(const Objectives& objectives);
  dual::PerGroup<double> multipliers() const;
  double coefficient(index_t variable) const; // of the model
  double ridge_times_beta(index_t variable) const;
  double kernel_sum(index_t variable) const; // (K beta)_i
  bool are_accurate(const Objectives& objectives) const;
  bool show_drift(const Objectives& objectives) const;
  void refine_gradient(bool of_all);
  void find_intervals();

  const Formulation& formulation_;
  dual::DualProblem& problem_;
  const dual::SolverOptions& options_;
  Control& control_;
  ExactSums exact_;
  dual::Solution solution_;
  std::vector<double> beta_;
  Certificate certificate_;
  double begin_;
  double value_error_;
  bool is_float32_;
  double sum_; // of all beta, as the constraints have it
};

// Throws InvalidArgument where the dual has no bound below. A `path` is led on.
Machine train(const Formulation& formulation, const KernelSource& source,
              const dual::SolverOptions& options, Control& control, PathPoint* path = nullptr);

// Below so many rows, float64 costs no more.
inline constexpr index_t kSmallestFloat32 = 256;

// Whether float32 kernel values, off by `value_error` each, lead to a usual tolerance in a problem
// of n rows with coefficients up to `largest_bound`. The errors of the values, times the
// coefficients, add up like a random walk over the support vectors. Where that is small compared
// with the margin 1, a few rounds of refinement remove it.
bool float32_suffices(double value_error, double largest_bound, index_t n);

// The options of a machine on all rows of the samples, of which there are n.
KernelOptions kernel_options_for(const TrainingSamples& samples, index_t n, double largest_bound,
                                 const TrainingOptions& options);

} // namespace maxmargin
