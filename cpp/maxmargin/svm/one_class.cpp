#include "maxmargin/svm/one_class.hpp"

#include "maxmargin/svm/single_machine.hpp"

#include <algorithm>
#include <numeric>

namespace maxmargin {

KernelFit train_one_class(const MatrixView& X, std::span<const double> C, double nu,
                          const KernelParams& kernel, const TrainingOptions& options,
                          Control& control) {
  const WholeSet set(X, {}, C, kernel, false, options, control);
  const double sum = nu * std::accumulate(C.begin(), C.end(), 0.0);
  dual::SolverOptions solver = options.solver;
  solver.tol *= std::min(1.0, sum); // the solution scales with the sum
  return set.fit_of(SvmType::one_class,
                    train(one_class(set.bounds(), sum), set.source(), solver, control));
}

} // namespace maxmargin
