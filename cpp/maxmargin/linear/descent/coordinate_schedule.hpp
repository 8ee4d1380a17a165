#pragma once

#include "maxmargin/base/random.hpp"
#include "maxmargin/base/types.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace maxmargin::linear {

// Which coordinates a pass visits. One that was optimal is left out of the next pass, then of the
// next two, and so on; one that moves is in every pass; a shrunk one is in none until the active
// ones are chosen anew.
class CoordinateSchedule {
 public:
  CoordinateSchedule(index_t n_coordinates, std::uint64_t seed)
      : visits_(static_cast<std::size_t>(n_coordinates)), active_(identity_order(n_coordinates)),
        random_(seed) {}

  index_t n_passes() const { return n_passes_; }
  // Those not shrunk, ascending.
  std::span<const index_t> active() const { return active_; }

  // Begins a pass: those that it visits, in a new random order.
  std::span<const index_t> next_pass() {
    ++n_passes_;
    due_.clear();
    std::erase_if(active_, [&](index_t k) {
      if (visits_[k].next <= n_passes_) due_.push_back(k);
      return visits_[k].is_shrunk();
    });
    random_.shuffle(due_);
    return due_;
  }

  void visited(index_t k, bool was_optimal) {
    Visit& visit = visits_[k];
    visit.pause = was_optimal ? std::min(visit.pause + 1, kLongestPause) : 0;
    visit.next = n_passes_ + 1 + visit.pause;
  }
  void shrink(index_t k) { visits_[k].next = kNever; }

  // Is followed by choose() for every coordinate, ascending.
  void choose_anew() { active_.clear(); }
  void choose(index_t k, bool is_active, bool must_move) {
    if (is_active) active_.push_back(k);
    if (must_move || visits_[k].is_shrunk()) visits_[k] = {};
  }

 private:
  // Passes; the problems of coordinate_descent.cpp take 581, 559 and 559 with 2, 8 and 32. Longer
  // ones leave violations unseen for longer.
  static constexpr index_t kLongestPause = 8;
  static constexpr index_t kNever = std::numeric_limits<index_t>::max();

  struct Visit {
    index_t next = 0; // pass
    index_t pause = 0;
    bool is_shrunk() const { return next == kNever; }
  };

  std::vector<Visit> visits_;
  std::vector<index_t> active_;
  std::vector<index_t> due_;
  Random random_;
  index_t n_passes_ = 0;
};

} // namespace maxmargin::linear
