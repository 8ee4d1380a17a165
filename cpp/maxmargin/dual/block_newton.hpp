#pragma once

#include "maxmargin/dual/inner_smo.hpp"
#include "maxmargin/optim/cholesky.hpp"

#include <map>
#include <vector>

namespace maxmargin::dual {

// Newton steps on the free variables of a block, where pair steps would creep: with many free
// variables and large bounds, the objective is a narrow valley. A primal active-set method (Nocedal
// and Wright 2006, algorithm 16.3) that only ever adds bounds; pair steps release them.
//
// With F the free variables, the minimum over the face where those of a set D are held fixed is
//
//   d = K_FF^-1 (-gradient_F) - Z nu,   Z = K_FF^-1 [1_G for every group G, e_k for k in D],
//
// with the nu for which the sum of d over every group is 0 and every d_k, k in D, is what takes k
// to its bound. One factorisation serves all faces: each further k costs one solve.
class BlockNewton {
 public:
  // Moves the free variables to the minimum over them, or to that of the face reached after adding
  // bounds one by one, up to a limit. Never raises the objective. Updates beta and gradient of the
  // block. Returns false when nothing moved.
  template <Real T> bool take(BlockProblem<T>& block, int threads);

  // The number of pair steps on the block that cost about as much as a Newton step.
  static index_t cost_in_pair_steps(const BlockVariables& block);

 private:
  using Vector = std::vector<double>;

  template <Real T> bool factor(const BlockProblem<T>& block);
  bool find_target(Vector& target) const;
  double room_towards(const BlockVariables& block, std::size_t k, const Vector& step,
                      const Vector& target) const;
  void solve_columns(const BlockVariables& block, std::size_t blocking, const Vector& step,
                     const Vector& target);
  void hold(std::size_t k, double at);
  void add_column(Vector column);
  void settle(const BlockVariables& block, Vector& step) const;
  void balance(const BlockVariables& block, Vector& step) const;
  double sum_over(const Group& group, const Vector& v) const;
  template <Real T> void apply(BlockProblem<T>& block, const Vector& step) const;

  std::vector<index_t> free_;
  std::vector<Group> groups_; // of the free variables, none empty
  AlignedBuffer<double> free_kernel_;
  optim::Cholesky cholesky_;
  Vector unconstrained_;                 // K_FF^-1 (-gradient_F)
  std::vector<Vector> columns_;          // of Z
  std::vector<Vector> column_sums_;      // over every group
  std::map<std::size_t, Vector> solved_; // columns of K_FF^-1 for variables that may come to D
  int threads_ = 1;
  std::vector<index_t> held_;   // D, as numbers in free_
  std::vector<double> held_at_; // the step that takes each to its bound
  std::vector<char> is_held_;
};

} // namespace maxmargin::dual
