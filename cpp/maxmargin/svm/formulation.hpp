#pragma once

#include "maxmargin/data/views.hpp"
#include "maxmargin/dual/dual_problem.hpp"
#include "maxmargin/kernel/kernel_params.hpp"
#include "maxmargin/svm/training_options.hpp"

#include <optional>
#include <span>
#include <vector>

namespace maxmargin {

// The offset of a machine, f(x) = w.phi(x) - rho, and the width of its losses.
struct Offset {
  double rho = 0.0;
  double width = 0.0;
};

// The training problem of a kernel machine, as data. Each column i of the kernel matrix has one
// variable, of sign s_i, or two, of either sign:
//
//   minimise  1/2 ||w||^2 + sum_i sum_s C_i loss(s (t_i - f(x_i)) - width) + price
//
//               s       t    width      loss         price
//   C-SVC       y_i     0    -1         any          0
//   nu-SVC      y_i     0    free       hinge        sum width
//   SVR         +1, -1  z_i  epsilon    hinge        0
//   nu-SVR      +1, -1  z_i  free       hinge        sum width
//   one-class   +1      0    0          hinge        -sum rho
//   quantile    +1, -1  z_i  0          hinge        0
//
// over w, rho and a free width, which is at least 0 in nu-SVR and at most 0 in nu-SVC, where it is
// -r, r being the functional margin (Cortes and Vapnik 1995; Vapnik 1995; Drucker et al. 1997;
// Schoelkopf, Smola, Williamson and Bartlett 2000; Schoelkopf, Platt, Shawe-Taylor, Smola and
// Williamson 2001; the nu formulations in LIBSVM's scaling, sum = nu sum_i C_i). For the quantile
// tau, C_i is C_i tau where s = +1 and C_i (1 - tau) where s = -1 (Takeuchi, Le, Sears and Smola
// 2006); without a width, one variable of both signs serves.
//
// The dual in signed form has a variable beta between 0 and s C_i for each sign:
//
//   minimise  1/2 beta' K beta + sum_i sum_s (s width - t_i) beta
//
// where a free width is 0 and each group's |beta| sum up to half of `sum`; else all beta sum up to
// `sum`. The squared hinge adds 1 / (2 C_i) to the diagonal of K and has no
// upper bound on |beta|; nor has the hard margin, whose dual has no bound below where no w and rho
// fulfil its conditions.
//
// A column with C_i = 0 takes no part.
struct Formulation {
  Loss loss = Loss::hinge;
  std::vector<double> C = {};      // by column
  std::vector<double> sign = {};   // by column; empty: both, in two variables, the positive first
  std::vector<double> target = {}; // by column; empty: 0
  double width = 0.0;              // unless it is free
  double sum = 0.0;
  index_t second_group = -1; // of variables, whose sums are fixed apart: the width is free
  std::optional<double> quantile = {}; // both signs are then in one variable

  index_t n_columns() const { return static_cast<index_t>(C.size()); }
  bool is_duplicated() const { return sign.empty() && !quantile; }
  bool has_free_width() const { return second_group >= 0; }

  // Of a variable of one sign.
  double sign_of(index_t variable) const {
    if (is_duplicated()) return variable < n_columns() ? 1.0 : -1.0;
    return sign[variable];
  }
  // The share of C_i that is the bound of a coefficient of this sign.
  double share_of(double coefficient) const {
    if (!quantile) return 1.0;
    return coefficient > 0.0 ? *quantile : 1.0 - *quantile;
  }
  double target_of(index_t column) const { return target.empty() ? 0.0 : target[column]; }

  // By how much a column is on the wrong side where the machine has the value f, and C_i times the
  // loss of so much.
  double excess_of(index_t column, double f, double offset_width) const;
  double loss_of(index_t column, double excess) const;
  // The price at this offset.
  double price_of(const Offset& offset) const {
    return sum * (has_free_width() ? offset.width : -offset.rho);
  }
  // From the multipliers of the groups' sums.
  Offset offset_of(std::span<const double> multipliers) const;
};

// With the hard margin, each C_i is infinity or 0.
Formulation c_svc(std::vector<double> y, std::vector<double> C, Loss loss);
// The columns of y = 1 come first; second_group is where the others begin.
Formulation nu_svc(std::vector<double> y, std::vector<double> C, double sum, index_t second_group);
Formulation svr(std::span<const double> z, std::span<const double> C, double epsilon);
Formulation nu_svr(std::span<const double> z, std::span<const double> C, double sum);
Formulation one_class(std::span<const double> C, double sum);
Formulation quantile_svr(std::span<const double> z, std::span<const double> C, double quantile);

// Throw InvalidArgument, with the name of the argument, where training could not do with it. C is by
// row.
void check_training(const MatrixView& X, std::span<const double> C, const KernelParams& kernel,
                    const TrainingOptions& options, Control& control);
void check_kernel(const KernelParams& kernel);
void check_classes(const MatrixView& X, std::span<const index_t> y, index_t n_classes);
void check_nu(double nu);

dual::DualProblem dual_of(const Formulation& formulation);

// Appends coefficients up to the bounds C that sum up to `sum`, the first ones at their bounds and
// the last zero (LIBSVM's start), times `sign`. Where the sum exceeds that of the bounds, the bounds.
// A rest within rounding counts as 0.
void append_greedy_start(std::span<const double> C, double sum, double sign,
                         std::vector<double>& start);

} // namespace maxmargin
