#pragma once

#include "maxmargin/base/control.hpp"
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
  // this.
  ExactSums(const PackingPlan& plan, std::vector<index_t> sample_of, int threads, Control& control)
      : plan_(plan), sample_of_(std::move(sample_of)), threads_(threads), control_(control) {}

  // sum_r coef[r] K(rows[r], targets[k]) for every k; all are columns, and every row is named once.
  std::vector<double> evaluate(std::span<const index_t> targets, std::span<const index_t> rows,
                               std::span<const double> coef);

  // So far, by all calls.
  index_t values_computed() const { return values_computed_; }

 private:
  std::vector<index_t> samples(std::span<const index_t> columns) const;

  const PackingPlan& plan_;
  std::vector<index_t> sample_of_;
  int threads_;
  Control& control_;
  index_t values_computed_ = 0;
};

} // namespace maxmargin
