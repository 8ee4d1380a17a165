#pragma once

#include "maxmargin/base/types.hpp"
#include "maxmargin/kernel/kernel_params.hpp"

#include <optional>
#include <vector>

namespace maxmargin {

// Samples that a model owns, as canonical CSR (dense samples list every column).
struct SupportVectors {
  index_t rows = 0;
  index_t cols = 0;
  std::vector<double> values;
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> indptr{0};
};

enum class SvmType { c_svc, nu_svc, one_class, epsilon_svr, nu_svr };

constexpr bool is_classifier(SvmType type) {
  return type == SvmType::c_svc || type == SvmType::nu_svc;
}

constexpr bool is_regression(SvmType type) {
  return type == SvmType::epsilon_svr || type == SvmType::nu_svr;
}

// A trained model in LIBSVM's form.
//
// Of a classifier, one machine for every pair of classes i < j in the order (0,1), (0,2) .. (1,2)
// ..; a positive decision value votes for class i. Support vectors are grouped by class. Row j-1 of
// dual_coef holds, for the support vectors of class i < j, their coefficients in machine (i,j); row
// i holds those of class j in the same machine (LIBSVM's sv_coef).
//
// The other types have one machine, one row of dual_coef, one rho, and neither labels nor
// n_support.
//
// Where the kernel is precomputed, the one column of the support vectors holds their numbers among
// the training samples, from 1.
struct SvmModel {
  SvmType type = SvmType::c_svc;
  KernelParams kernel;
  std::vector<double> labels;     // n_classes, as in the file
  std::vector<index_t> n_support; // n_classes
  std::vector<double> dual_coef;  // n_coef_rows x n_support_vectors, row-major
  std::vector<double> rho;        // n_classes (n_classes - 1) / 2, or one
  // Probabilities of a classifier's pairs: the first class has 1 / (1 + exp(prob_a f + prob_b)).
  // By machine, or empty.
  std::vector<double> prob_a, prob_b;
  // Of a regression: the errors follow the Laplace distribution exp(-|z| / scale) / (2 scale).
  std::optional<double> noise_scale;
  SupportVectors support_vectors;

  index_t n_classes() const { return static_cast<index_t>(n_support.size()); }
  index_t n_coef_rows() const { return is_classifier(type) ? n_classes() - 1 : 1; }
};

// Place of the machine of the classes i < j in that order.
constexpr index_t machine_of(index_t i, index_t j, index_t n_classes) {
  return i * n_classes - i * (i + 1) / 2 + (j - i - 1);
}

// Row of dual_coef that holds the coefficients of class `own` in its machine with `other`.
constexpr index_t coef_row(index_t own, index_t other) {
  return other > own ? other - 1 : other;
}

// The classes in ascending order of their labels.
std::vector<index_t> ascending_order(const SvmModel& model);

// The same decision functions with class order[i] in place i; a machine whose classes change places
// changes its sign. Requires a classifier and a permutation.
SvmModel with_class_order(const SvmModel& model, const std::vector<index_t>& order);

// order[inverse[i]] = i. Throws InvalidArgument unless `order` is a permutation of n numbers.
std::vector<index_t> inverse_order(const std::vector<index_t>& order, index_t n);

} // namespace maxmargin
