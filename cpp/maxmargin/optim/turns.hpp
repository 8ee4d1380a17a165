#pragma once

#include "maxmargin/base/random.hpp"
#include "maxmargin/base/types.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace maxmargin::optim {

// Which coordinates have their turn in a pass. One that was at rest is left alone for one pass,
// then for two, and so on; one that moves has its turn in every pass; one set aside has none until
// the active ones are chosen anew.
class Turns {
 public:
  Turns(index_t n_coordinates, std::uint64_t seed)
      : turns_(static_cast<std::size_t>(n_coordinates)), active_(identity_order(n_coordinates)),
        random_(seed) {}

  index_t n_passes() const { return n_passes_; }
  // Those not set aside, ascending.
  std::span<const index_t> active() const { return active_; }

  // Begins a pass: those whose turn it is, in a new random order.
  std::span<const index_t> next_pass() {
    ++n_passes_;
    due_.clear();
    std::erase_if(active_, [&](index_t k) {
      if (turns_[k].next <= n_passes_) due_.push_back(k);
      return turns_[k].is_aside();
    });
    random_.shuffle(due_);
    return due_;
  }

  void took_turn(index_t k, bool was_at_rest) {
    Turn& turn = turns_[k];
    turn.pause = was_at_rest ? std::min(turn.pause + 1, kLongestPause) : 0;
    turn.next = n_passes_ + 1 + turn.pause;
  }
  void set_aside(index_t k) { turns_[k].next = kNever; }

  // To choose the active ones anew: to be followed by choose() for every coordinate, ascending.
  void choose_anew() { active_.clear(); }
  void choose(index_t k, bool is_active, bool must_move) {
    if (is_active) active_.push_back(k);
    if (must_move || turns_[k].is_aside()) turns_[k] = {};
  }

 private:
  static constexpr index_t kLongestPause = 8;
  static constexpr index_t kNever = std::numeric_limits<index_t>::max();

  struct Turn {
    index_t next = 0; // pass
    index_t pause = 0;
    bool is_aside() const { return next == kNever; }
  };

  std::vector<Turn> turns_;
  std::vector<index_t> active_;
  std::vector<index_t> due_;
  Random random_;
  index_t n_passes_ = 0;
};

} // namespace maxmargin::optim
