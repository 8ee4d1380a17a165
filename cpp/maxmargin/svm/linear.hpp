#pragma once

#include "maxmargin/base/control.hpp"
#include "maxmargin/data/views.hpp"
#include "maxmargin/linear/crammer_singer.hpp"
#include "maxmargin/linear/linear_problem.hpp"

#include <functional>
#include <span>
#include <vector>

namespace maxmargin {

// What all machines of a fit have in common; see LinearProblem.
struct LinearFormulation {
  linear::LinearLoss loss = linear::LinearLoss::squared_hinge;
  linear::Penalty penalty = linear::Penalty::l2;
  double epsilon = 0.0;
  double intercept_scaling = 1.0;
};

// What one machine is to tell: y by sample, and the factors of C.
struct LinearTask {
  std::vector<double> y;
  std::vector<double> weight;
};

// Trains a machine for every task and every C, in the order of C for one task after the other, each
// from the solution before it (ascending C is the cheaper order). Tasks are shared among threads;
// the result does not depend on how many. make(t) is called on any thread, once for each task.
// Solutions come without beta.
std::vector<linear::LinearSolution>
train_linear(const MatrixView& X, index_t n_tasks, const std::function<LinearTask(index_t)>& make,
             std::span<const double> C, const LinearFormulation& formulation,
             const linear::LinearOptions& options, Control& control);

// Trains a machine of all classes together for every task and every C, likewise. make(t) returns
// the factors of C by sample.
std::vector<linear::JointSolution>
train_joint(const MatrixView& X, std::span<const index_t> y, index_t n_classes, index_t n_tasks,
            const std::function<std::vector<double>(index_t)>& make, std::span<const double> C,
            double intercept_scaling, const linear::LinearOptions& options, Control& control);

} // namespace maxmargin
