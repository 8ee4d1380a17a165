#include "maxmargin/svm/svr.hpp"

#include "maxmargin/svm/single_machine.hpp"

#include <numeric>

namespace maxmargin {

KernelFit train_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                    double epsilon, const KernelParams& kernel, const TrainingOptions& options,
                    Control& control) {
  const WholeSet set(X, z, C, kernel, true, options, control);
  return set.fit_of(SvmType::epsilon_svr, train(svr(set.by_column(z), set.bounds(), epsilon),
                                                set.source(), options.solver, control));
}

KernelFit train_nu_svr(const MatrixView& X, std::span<const double> z, std::span<const double> C,
                       double nu, const KernelParams& kernel, const TrainingOptions& options,
                       Control& control) {
  const WholeSet set(X, z, C, kernel, true, options, control);
  const double sum = nu * std::accumulate(C.begin(), C.end(), 0.0);
  return set.fit_of(SvmType::nu_svr, train(nu_svr(set.by_column(z), set.bounds(), sum),
                                           set.source(), options.solver, control));
}

} // namespace maxmargin
