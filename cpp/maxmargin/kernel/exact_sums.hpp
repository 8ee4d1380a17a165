#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/kernel/packed_samples.hpp"

#include <span>
#include <vector>

namespace maxmargin {

// Sums of kernel values in float64, evaluated from the samples themselves: what a solver that works
// on float32 kernel values measures its gradient by. Rows are packed a few at a time, so that no
// second copy of the samples is made.
class ExactSums {
 public:
  // Column c of the solver's kernel matrix is sample sample_of[c] of the plan, which must outlive
  // this; where the matrix has every column twice, so is the second half.
  ExactSums(const PackingPlan& plan, std::vector<index_t> sample_of, int threads, Control& control)
      : plan_(plan), sample_of_(std::move(sample_of)), threads_(threads), control_(control) {}

  // sum_v coef[v] K(variables[v], targets[k]) for every k; all are columns. The coefficients of two
  // variables of one column are added up first, as those of the model are.
  std::vector<double> evaluate(std::span<const index_t> targets, std::span<const index_t> variables,
                               std::span<const double> coef);

  // The coefficients here are by column.

  // By about how much rounding may move the difference of two such sums at the most; a looser bound
  // where that is less than `tol`. Where the coefficients, a `total` of which would be exact, have
  // another sum by more than their own rounding, so much of the largest value, by which an offset of
  // all kernel values would move every sum.
  struct Rounding {
    double of_sums = 0.0, of_total = 0.0;
  };
  MAXMARGIN_INSIDE Rounding rounding_error(std::span<const double> coef, double total, double tol);

  // The largest value of some samples that have a coefficient with themselves: what rounding errors
  // of the sums are in proportion to.
  double value_scale(std::span<const double> coef);

  // So far, by all calls.
  index_t values_computed() const { return values_computed_; }

 private:
  struct Terms {
    std::vector<index_t> rows; // columns
    std::vector<double> coef;
  };
  double rounding_of_values(std::span<const index_t> rows, std::span<const double> sizes,
                            double growth);
  Terms terms_of(std::span<const index_t> variables, std::span<const double> coef) const;
  std::vector<index_t> samples(std::span<const index_t> columns) const;

  const PackingPlan& plan_;
  std::vector<index_t> sample_of_;
  int threads_;
  Control& control_;
  index_t values_computed_ = 0;
};

} // namespace maxmargin
