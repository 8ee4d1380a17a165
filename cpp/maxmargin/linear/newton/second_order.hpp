#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/linear/attempts.hpp"
#include "maxmargin/linear/linear_problem.hpp"
#include "maxmargin/linear/newton/row_passes.hpp"
#include "maxmargin/optim/time_limit.hpp"

#include <limits>
#include <optional>
#include <vector>

namespace maxmargin::linear {

// The loop of the second-order methods of linear machines: steps of the weights of x~
// (linear/newton/row_passes.hpp) until the gap is small enough and a certificate proves it.
class SecondOrder {
 public:
  virtual ~SecondOrder() = default;
  SecondOrder(const SecondOrder&) = delete;
  SecondOrder& operator=(const SecondOrder&) = delete;

  // n_iter counts steps, at most `default_steps` if max_iter is -1.
  virtual LinearSolution run() { return finish(approach(options_.tol, true)); }

 protected:
  SecondOrder(const LinearProblem& problem, const LinearOptions& options, Control& control,
              index_t default_steps, Centring centring = Centring::dense_rows);

  // Sets objective_ and gap_, at the weights. The gap may leave out what only the certificate
  // finds.
  virtual void evaluate() = 0;
  // Evaluates again, without the rounding of many steps.
  virtual void renew() {}
  // Returns whether there was one to take.
  virtual bool step() = 0;
  // The separator of the weights and the bounds that it proves.
  virtual LinearSolution certificate() = 0;
  // Whether a gap small enough is all that is asked of the weights.
  virtual bool may_end() const { return true; }
  // Of the problem itself; for progress and to choose the best weights.
  virtual Bounds bounds() const { return {objective_, gap_}; }
  virtual index_t n_free() const = 0;

  // Steps to a relative gap of tol, which `is_last` has to be proved.
  optim::StopReason approach(double tol, bool is_last);
  LinearSolution finish(optim::StopReason reason);
  // Whether there is time left.
  bool goes_on();
  double ridge(std::size_t k) const {
    return static_cast<index_t>(k) < n_cols(problem_.X) ? 1.0 : intercept_.ridge;
  }
  double penalised_product(const std::vector<double>& a, const std::vector<double>& b) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += ridge(k) * a[k] * b[k];
    return sum;
  }
  // Sets the weights to those of options_.start; whether there is one.
  bool start();

  const LinearProblem& problem_;
  const LinearOptions& options_;
  optim::TimeLimit time_;
  Control& control_;
  InterceptFeature intercept_;
  RowPasses passes_;
  std::vector<double> weights_;
  double objective_ = 0.0, gap_ = 0.0;

 private:
  bool is_proved();
  void look();

  index_t max_iter_, n_iter_ = 0;
  // Of the least objective on the way, which steps may let rise again.
  std::vector<double> best_weights_;
  double best_objective_ = std::numeric_limits<double>::infinity();
  LinearSolution proof_;
  Looks looks_;
  std::optional<LinearSolution> seen_; // the best that was certified
};

} // namespace maxmargin::linear
