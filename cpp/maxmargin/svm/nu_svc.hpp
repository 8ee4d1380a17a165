#pragma once

#include "maxmargin/svm/dual_fit.hpp"

namespace maxmargin {

// nu-support vector classification (svm/formulation.hpp), C_i being the samples' weights:
//
//   minimise  1/2 ||w||^2 - s r + sum_i C_i max(0, r - y_i (w.phi(x_i) - rho)),   s = nu sum_i C_i
//
// (but s no more than twice the sum of the lighter class, beyond which there is no solution). The
// machine is divided by r, so that the margin is 1: it is then the C-SVC with C = 1 / r, its
// equivalent. The objectives and the violation are those of that machine: divided by r^2, and by r.
//
// At the largest feasible nu, all of the lighter class is at C_i. Where the mean of that class then
// is one of the heavier class's means of at most the same bounds, w = 0, and every r >= 0 is a
// solution, with f = -+r, the side of the heavier class. It is r = 1 that is returned, f the
// constant of the heavier class (0 where they weigh the same): a C-SVC whatever its C.
//
// y and C have an element for each column; the columns of y = 1 come first, and
// second_group is where the others begin. Throws InvalidArgument where r = 0 at another nu, within
// rounding.
Machine train_nu_svc(const KernelSource& source, std::vector<double> y, std::vector<double> C,
                     double nu, index_t second_group, const dual::SolverOptions& options,
                     Control& control);

} // namespace maxmargin
