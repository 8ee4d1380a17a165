#pragma once

#include "maxmargin/dual/solver_state.hpp"

#include <vector>

namespace maxmargin::dual {

// Chooses the variables of the next block: first those of the last block that are still free, which
// take part in most steps, then those that violate the optimality conditions most, in each group
// half of them from I_up and half from I_low.
//
// The first block is small, and the size doubles: the first choices are nearly arbitrary, and
// problems with few support vectors need no large block. A block exceeds its usual size only where
// free variables fill it, and at most to the size whose square block costs as much as some hundred
// kernel rows.
class WorkingSet {
 public:
  // A block has 256 variables where kernel values are cheap, and more where they are expensive: the
  // larger the blocks, the fewer rows are computed, of row_values values each.
  WorkingSet(index_t n_variables, index_t row_values, bool has_expensive_values);

  // The next set, ascending, and never empty while `ends` show a violation.
  const std::vector<index_t>& select(const SolverState& state, const Ends& ends);

  // The variables were renumbered: kept[k] is the old number of k, or -1.
  void renumber(const std::vector<index_t>& kept);
  void forget();

 private:
  static constexpr index_t kFirstSize = 64;

  struct Candidate {
    double key;
    index_t index;
  };

  // The candidates of the largest keys among those taken; of equal keys, the first.
  class Best {
   public:
    void begin(index_t count, double above);
    // Only candidates of greater keys can be among them.
    double threshold() const { return threshold_; }
    void take(double key, index_t index);
    const std::vector<Candidate>& finish();

   private:
    void drop_others();

    std::size_t count_ = 0;
    double threshold_ = 0.0;
    std::vector<Candidate> items_;
  };
  void keep_free(const SolverState& state);
  void add_violators_of(const SolverState& state, const Group& group, const simd::Violation& ends,
                        index_t count);
  void add(const std::vector<Candidate>& candidates);

  index_t usual_size_;
  index_t size_limit_ = kFirstSize;
  index_t largest_size_;
  std::vector<index_t> set_;
  std::vector<index_t> kept_;
  std::vector<char> is_chosen_;
  Best up_, low_;
};

} // namespace maxmargin::dual
