#pragma once

#include "simd/kernel_table.hpp"

#include <vector>

namespace maxmargin {

// Chooses the variables of the next block: those of the last block that are still free come first,
// since they take part in most steps, then the variables that violate the optimality conditions
// most, half of them wanting to grow (I_up) and half to fall (I_low).
//
// The block begins small and doubles: the first sets are nearly arbitrary, and problems with few
// support vectors never need a large one. It outgrows kUsualSize only when free variables crowd it,
// and then so far that its square kernel block takes a few kilobytes for every variable of the
// problem.
class WorkingSet {
 public:
  explicit WorkingSet(index_t n_variables);

  // The next set, ascending, and never empty while `ends` tells of a violation.
  const std::vector<index_t>& select(const simd::PairView& view, const simd::Violation& ends);

  // The variables were renumbered: kept[k] is the old number of k.
  void renumber(const std::vector<index_t>& kept);
  void forget();

 private:
  static constexpr index_t kFirstSize = 64;
  static constexpr index_t kUsualSize = 256;

  struct Candidate {
    double key;
    index_t index;
  };
  void keep_free(const simd::PairView& view);
  void add_violators(std::vector<Candidate>& candidates, index_t count);

  index_t size_limit_ = kFirstSize;
  index_t largest_size_;
  std::vector<index_t> set_;
  std::vector<index_t> kept_;
  std::vector<char> is_chosen_;
  std::vector<Candidate> up_, low_;
};

} // namespace maxmargin
