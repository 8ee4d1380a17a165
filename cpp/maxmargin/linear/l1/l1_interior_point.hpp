#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/columns.hpp"
#include "maxmargin/linear/linear_problem.hpp"
#include "maxmargin/optim/time_limit.hpp"

#include <vector>

namespace maxmargin::linear {

// The features whose weights are not 0 at the least value of the squared hinge with penalty l1, by a
// primal-dual interior point method (Mehrotra 1992) on the dual of few samples. With t_j = (y_i
// x_ij)_i, weights w_j = u_j - v_j and y_i f(x_i) = (sum_j w_j t_j)_i, the conditions are
//
//   s_i = y_i f(x_i) + alpha_i / (2 C_i) - 1,   p_j = 1 - t_j.alpha,   q_j = 1 + t_j.alpha
//   alpha_i s_i = u_j p_j = v_j q_j = mu -> 0,   all of them > 0
//
// and a step solves (diag(s_i / alpha_i + 1 / (2 C_i)) + sum_j (u_j / p_j + v_j / q_j) t_j t_j')
// step = .. twice with one factorisation. Twenty to forty steps suffice, whatever C; the weights
// that count are those with u_j > p_j or v_j > q_j. Memory: 8 bytes for every sample and feature,
// and O(n^2).
inline constexpr index_t kMostL1Samples = 1024; // with more, the n x n matrix takes long
std::vector<index_t> find_l1_features(const Columns& columns, const LinearProblem& problem,
                                      double tol, int threads, optim::TimeLimit& time,
                                      Control& control);

} // namespace maxmargin::linear
