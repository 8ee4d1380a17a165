#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/columns.hpp"
#include "maxmargin/data/compact_samples.hpp"
#include "maxmargin/data/packed/sparse_copy.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/linear/linear_problem.hpp"

#include <optional>
#include <variant>

namespace maxmargin::linear {

// Chooses the solver by the formulation and the shape of the samples, and holds the samples as it
// reads them, for all machines:
//
//   logistic loss, penalty l2     Newton's method of its own
//   few features, penalty l1      proximal Newton's method, and the interior point method where its
//                                 quadratics take long; before it, for a small C, coordinate descent
//   penalty l1                    coordinate descent on the features, then these methods on those
//                                 that count; the interior point method first, where there are no
//                                 more than twice as many samples
//   few features                  steps: Newton's method in the primal, or, for few samples and
//                                 losses that are not squared, the interior point method
//   few features, and hardly more
//     samples or a small C        dual coordinate descent before it
//   few samples                   dual coordinate descent, then steps on the rotated samples
//   few features, mostly zero,
//     losses not squared          dual coordinate descent before it, where a step is much dearer
//   more features, dense          dual coordinate descent, then steps; steps alone for more samples,
//                                 a greater C and losses not squared
//   else                          dual coordinate descent; where one machine alone reads sparse
//                                 samples, as they are given, until passes are many
//
// Where Newton's method fails, the interior point method has its turn if losses are not squared,
// and then dual coordinate descent goes on from there. A border at which the choice changes is
// one of bench/linear_borders.py.
class LinearSolver {
 public:
  // `is_for_one`: whether it solves one problem only.
  LinearSolver(const MatrixView& X, const LinearFormulation& formulation, bool is_for_one,
               int threads, Control& control);

  // The samples as problems are to have them.
  const MatrixView& samples() const { return X_; }

  // Where the solution has not converged, it is no worse than weights of 0.
  LinearSolution solve(const LinearProblem& problem, const LinearOptions& options,
                       Control& control) const;

 private:
  void copy_if_mostly_zero(int threads, Control& control);
  index_t passes_of_rotation() const;
  index_t l1_passes() const;
  index_t passes_of_newton() const;
  bool has_cheap_steps() const;
  // Whether dual coordinate descent takes few passes.
  bool is_easy(const LinearProblem& problem) const;
  index_t easy_passes() const;
  LinearSolution attempt(const LinearProblem& problem, const LinearOptions& options,
                         Control& control) const;
  LinearSolution attempt_l1(const LinearProblem& problem, const LinearOptions& options,
                            Control& control) const;
  LinearSolution solve_by_steps(const LinearProblem& problem, const LinearOptions& options,
                                Control& control) const;
  LinearSolution solve_second_order(const LinearProblem& problem, const LinearOptions& options,
                                    Control& control) const;
  LinearSolution solve_as_given(const LinearProblem& problem, const LinearOptions& options,
                                Control& control) const;

  bool has_few_features_;
  bool is_squared_;
  bool has_long_steps_; // which take as long as a pass for every feature, or longer
  MatrixView X_;
  std::variant<std::monostate, SparseCopy<float>, SparseCopy<double>> copy_;
  std::optional<index_t> passes_to_try_; // where a second-order method follows
  bool reads_as_given_ = false;          // at first
  std::optional<CompactSamples> samples_;
  std::optional<Columns> columns_;
};

} // namespace maxmargin::linear
