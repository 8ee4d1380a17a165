#pragma once

#include "maxmargin/base/aligned_memory.hpp"
#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/data/views.hpp"

#include <vector>

namespace maxmargin {

// What a trained linear machine consists of: functions f(x) = w.x + b. Of two classes there is one,
// positive for the second class; of more, one for each. A regression has no classes, and one.
struct LinearModelParts {
  index_t n_features = 0;
  index_t n_classes = 0;
  AlignedVector<double> coef;    // w of every function, row-major
  std::vector<double> intercept; // b of every function

  index_t n_functions() const { return static_cast<index_t>(intercept.size()); }
};

// A trained linear machine. Its functions may be called from many threads.
class MAXMARGIN_API LinearModel {
 public:
  // Throws InvalidArgument, with the name of the part, where the parts do not fit together or a
  // number is not finite.
  explicit LinearModel(LinearModelParts parts);

  const LinearModelParts& parts() const { return parts_; }

  // f of every row of X and function, row-major. If X lies in a mapped file, its pages are given
  // back once read (base/mapped_memory.hpp).
  std::vector<double> decision_values(const MatrixView& X, int threads, Control& control,
                                      bool is_mapped = false) const;

  // By sample, the number of the class: of two classes by the sign of f (0 is the second), else the
  // first of the greatest f. Of a regression f.
  std::vector<double> predict(const MatrixView& X, int threads, Control& control) const;

  // The same of one row of X, and of its decision values.
  void values_of_row(const MatrixView& X, double* out) const;
  double predicted(const double* values) const;

 private:
  LinearModelParts parts_;
};

} // namespace maxmargin
