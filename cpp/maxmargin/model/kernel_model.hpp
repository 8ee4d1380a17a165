#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/export.hpp"
#include "maxmargin/data/sample_matrix.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/model/pair_layout.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace maxmargin {

enum class SvmType { c_svc, nu_svc, one_class, epsilon_svr, nu_svr };

constexpr bool is_classifier(SvmType type) {
  return type == SvmType::c_svc || type == SvmType::nu_svc;
}

constexpr bool is_regression(SvmType type) {
  return type == SvmType::epsilon_svr || type == SvmType::nu_svr;
}

// What a trained kernel machine consists of. A classifier has a machine for every pair of classes
// (model/pair_layout.hpp); the other types have nothing that is by class and one machine, but for
// regressions of several quantiles, which have a machine and a row of dual_coef for each.
struct KernelModelParts {
  SvmType type = SvmType::c_svc;
  KernelParams kernel;    // with the factors of the support vectors
  index_t n_features = 0; // of a precomputed kernel: the number of training samples
  // Of a precomputed kernel: one column, the numbers of the training samples, from 1.
  SampleMatrix support_vectors;
  std::vector<double> dual_coef; // n_coef_rows x n_support_vectors, row-major
  std::vector<double> rho;       // by machine

  std::vector<index_t> n_support;  // by class
  std::vector<index_t> vote_order; // of classes with equal votes, the first in this order wins
  std::vector<double> labels;      // by class, for files; empty: 0, 1 ..

  std::vector<index_t> support; // the support vectors' rows in the training set; empty: not known
  // By machine of a nu formulation, or empty: C of the C-SVC, epsilon of the epsilon-SVR with the
  // same solution.
  std::vector<double> equivalent;
  // By machine, or empty: the first class of a pair has the probability
  // 1 / (1 + exp(prob_a f + prob_b))
  std::vector<double> prob_a, prob_b;
  // Of a regression: the errors follow the Laplace distribution exp(-|z| / scale) / (2 scale).
  std::optional<double> noise_scale;
  std::vector<double> density_marks; // of a one-class model, or empty: model/votes.hpp

  index_t n_classes() const { return static_cast<index_t>(n_support.size()); }
  index_t n_machines() const { return static_cast<index_t>(rho.size()); }
  index_t n_coef_rows() const { return is_classifier(type) ? n_classes() - 1 : n_machines(); }
  index_t n_support_vectors() const { return n_rows(view_of(support_vectors)); }
  bool is_precomputed() const { return kernel.type == KernelType::precomputed; }
};

// A trained kernel machine. Immutable; its functions may be called from many threads.
class MAXMARGIN_API KernelModel {
 public:
  // Throws InvalidArgument, with the name of the part, where the parts do not fit together or a
  // number is not finite.
  explicit KernelModel(KernelModelParts parts);
  KernelModel(KernelModel&&) noexcept;
  ~KernelModel();

  const KernelModelParts& parts() const { return parts_; }

  // The support vectors that a machine uses, and their coefficients.
  struct Expansion {
    std::vector<index_t> places;
    std::vector<double> beta;
  };
  Expansion expansion(index_t machine) const;

  // out[i * n_machines + p] is sum beta K - rho of machine p for row i of X, whatever the other
  // rows; `factors` are X's, as KernelParams::factors are those of the support vectors. Of a
  // precomputed kernel, X holds the kernel values with all training samples, or with the support
  // vectors, and is dense.
  void decision_values(const MatrixView& X, std::span<const double> factors, double* out,
                       int threads, Control& control) const;

  // By sample, for a kernel without factors: of a classifier the label (without labels the number)
  // of the class with most votes; 1 or -1 of a one-class model; the value of a regression.
  std::vector<double> predict(const MatrixView& X, int threads, Control& control) const;

  // Whether there are probabilities of classes, or of inside and outside.
  bool is_calibrated() const { return !parts_.prob_a.empty() || !parts_.density_marks.empty(); }

  // Of a classifier, from its decision values.

  // By sample, the class with most votes.
  std::vector<index_t> vote_winners(std::span<const double> values) const;
  // n_classes for every sample: votes plus confidence squeezed into (-1/3, 1/3).
  std::vector<double> class_scores(std::span<const double> values) const;
  // n_classes for every sample; of a one-class model those of inside and outside. Throws
  // InvalidArgument where the model is not calibrated.
  std::vector<double> probabilities(std::span<const double> values) const;

 private:
  void given_values(const MatrixView& X, double* out, int threads, Control& control) const;

  struct Packed; // what decision values need, made when they are first asked for
  KernelModelParts parts_;
  std::unique_ptr<Packed> packed_;
};

} // namespace maxmargin
