#include "maxmargin/svm/kernel_fit.hpp"

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/sums.hpp"
#include "maxmargin/kernel/kernel_function.hpp"

#include <cmath>

namespace maxmargin {

KernelModelParts parts_of(SvmType type, const MatrixView& X, const KernelParams& kernel,
                          std::vector<index_t> support) {
  KernelModelParts parts;
  parts.type = type;
  parts.n_features = n_cols(X);
  parts.kernel = kernel;
  parts.kernel.factors.clear();
  for (index_t f = 0; f < n_factors(kernel); ++f)
    for (const index_t row : support)
      parts.kernel.factors.push_back(kernel.factors[static_cast<std::size_t>(f * n_rows(X) + row)]);
  if (parts.is_precomputed()) {
    DenseSamples<double> numbers{{}, std::ssize(support), 1};
    for (const index_t row : support) numbers.values.push_back(static_cast<double>(row + 1));
    parts.support_vectors = std::move(numbers);
  } else {
    parts.support_vectors = rows_of(X, support);
  }
  parts.support = std::move(support);
  return parts;
}

KernelFit finished(KernelModelParts parts, Certificates certificates) {
  bool is_finite = all_finite(parts.dual_coef) && all_finite(parts.rho);
  for (index_t p = 0; p < certificates.size() && is_finite; ++p)
    is_finite = std::isfinite(certificates[p].dual_objective);
  if (!is_finite) throw NumericError("the solution is not finite");
  return {KernelModel(std::move(parts)), std::move(certificates)};
}

} // namespace maxmargin
