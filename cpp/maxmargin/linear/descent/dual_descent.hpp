#pragma once

#include "maxmargin/base/error.hpp"
#include "maxmargin/base/parallel.hpp"
#include "maxmargin/data/sample_rows.hpp"
#include "maxmargin/linear/attempts.hpp"
#include "maxmargin/linear/descent/coordinate_schedule.hpp"
#include "maxmargin/linear/linear_problem.hpp"
#include "maxmargin/linear/stagnation.hpp"
#include "maxmargin/optim/time_limit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace maxmargin::linear {

// Passes of coordinate descent over a dual whose gap is a sum over its coordinates, each a variable
// or a block of variables. A pass takes them in a new random order and minimises over one after the
// other, while w is kept up to date: a product with a row and an addition of it. Those whose
// optimality margin at a bound is greater than any violation in the last pass are shrunk, until the
// gap over all is evaluated.
//
// It ends when the gap, evaluated over all, is at most tol * primal objective; what a pass meets of
// it on its way shows when to evaluate it. n_iter counts passes.
//
// A Dual has (`rows` being those of rows(), of their own type):
//
//   size()                  coordinates
//   rows()                  AnyRows of the samples
//   row_elements()          read to evaluate one of them, on the average
//   fetch_place(k)          fetches where the row of k lies
//   sample(k)               the row of k
//   check_threads()         that may evaluate coordinates side by side
//   status(rows, k)         the optimality status of k: its `gap`, its `violation` (<= 0: it need
//                           not move), is_optimal() and is_shrinkable(distance)
//   overshoot()             by about what factor a pass meets more of the gap than is left after it
//   move(rows, k, status)   minimises over k; returns by how much the dual objective falls
//   move_together(active, is_late)
//                           steps of many coordinates, where passes are slow; likewise (optional)
//   settle()                makes the point feasible, before the objectives are evaluated there
//   note_place(), go_back() around what settle() is to move for an evaluation only
//   save(), restore()       the primal point, to be returned as it is
//   sum_up()                w without the rounding of many moves
//   penalty()               1/2 ||w||^2, in both objectives
//   rounding()              of the last penalty(); it shows where the dual variables are very large
//   loss(k, status)         what k adds to it in the primal objective
//   conjugate(k)            what k adds to it in the dual objective, which is minimised
//   keep(k, status)         notes the status of k, for improve() (optional)
//   improve(bounds)         finds a better point for the primal objective, near w (optional)
template <class Dual> class DualDescent {
 public:
  DualDescent(Dual& dual, const LinearOptions& options, optim::TimeLimit& time)
      : dual_(dual), options_(options), time_(time), schedule_(dual.size(), options.seed),
        looks_(options.is_capped,
               static_cast<double>(dual.size()) * static_cast<double>(dual.row_elements())),
        overshoot_(dual.overshoot()) {
    objective_ = dual.penalty();
    for (index_t k = 0; k < dual.size(); ++k) objective_ += dual.conjugate(k);
  }

  LinearOutcome run() {
    const optim::StopReason reason = make_passes();
    LinearOutcome outcome;
    outcome.set_bounds(primal_, gap_);
    if (reason != optim::StopReason::converged) {
      if (least_primal_ < primal_) dual_.restore();
      outcome.set_bounds(least_primal_, least_primal_ + least_dual_);
    }
    outcome.n_iter = n_iter();
    outcome.n_free = static_cast<index_t>(schedule_.active().size());
    outcome.seconds = time_.seconds();
    outcome.stop_reason = reason;
    return outcome;
  }

 private:
  // A pass meets a greater gap than it leaves, by a ratio that every check measures; of that no more
  // than this counts, since a check takes half a pass.
  static constexpr double kMostOvershoot = 8.0;
  // Passes after which w is summed up anew, so that the rounding of updates does not add up: that
  // takes half a pass, hence 1 % of the time.
  static constexpr index_t kPassesPerSum = 50;

  struct Pass {
    double gap = 0.0;       // as met on the way
    double decrease = 0.0;  // of the dual objective
    double violation = 0.0; // the greatest
  };

  // Of the coordinates in the objectives, added up in the same order whichever thread does it.
  struct Share {
    double losses = 0.0, conjugates = 0.0, gap = 0.0;

    void add(const Share& other) {
      losses += other.losses;
      conjugates += other.conjugates;
      gap += other.gap;
    }
  };
  static constexpr index_t kShares = 32; // of the sums, however many threads there are
  static constexpr bool kImproves = requires(Dual dual, Bounds bounds) { dual.improve(bounds); };

  optim::StopReason make_passes() {
    const index_t max_iter = options_.max_iter < 0 ? kDefaultPasses : options_.max_iter;
    if (looks_.is_due(0)) look();
    while (schedule_.n_passes() < max_iter) {
      save_best();
      const Pass seen = pass();
      if (time_.is_up()) return last_check(optim::StopReason::time_limit);
      if (looks_.is_due(n_iter())) look();
      const bool is_lost = stagnation_.count(seen.decrease, objective_);
      if (is_lost || seen.gap <= overshoot_ * options_.tol * -objective_) {
        if (check()) return optim::StopReason::converged;
        if (stagnation_.is_stalled(gap_)) return optim::StopReason::stalled;
        overshoot_ = std::clamp(0.9 * seen.gap / gap_, 1.0, kMostOvershoot);
      }
      if constexpr (requires { dual_.move_together(schedule_.active(), [] { return false; }); })
        if (slow_.count(seen.gap, overshoot_ * options_.tol * -objective_))
          objective_ -= dual_.move_together(schedule_.active(), [&] { return is_late(); });
    }
    return last_check(optim::StopReason::max_iter);
  }

  Pass pass() {
    const std::span<const index_t> due = schedule_.next_pass();
    const Pass seen = dual_.rows().visit([&](const auto& rows) { return pass_over(due, rows); });
    objective_ -= seen.decrease;
    shrink_above_ = seen.violation;
    return seen;
  }

  template <class Rows> Pass pass_over(std::span<const index_t> due, const Rows& rows) {
    Dual& dual = dual_; // in a register, whatever is called
    Pass seen;
    for (std::size_t t = 0; t < due.size(); ++t) {
      if (is_late()) break;
      if (t + 2 * kRowsAhead < due.size()) dual.fetch_place(due[t + 2 * kRowsAhead]);
      if (t + kRowsAhead < due.size()) rows.fetch(dual.sample(due[t + kRowsAhead]));
      const index_t k = due[t];
      const auto status = dual.status(rows, k);
      if (status.is_shrinkable(shrink_above_)) {
        schedule_.shrink(k);
        continue;
      }
      seen.gap += status.gap;
      schedule_.visited(k, status.is_optimal());
      if (status.violation <= 0.0) continue;
      seen.violation = std::max(seen.violation, status.violation);
      seen.decrease += dual.move(rows, k, status);
    }
    return seen;
  }

  // Of the objectives, where the best is not lost. The passes go on as if nothing had been.
  void look() {
    dual_.note_place();
    dual_.settle();
    evaluate();
    save_best();
    dual_.go_back();
  }

  void save_best() {
    if (std::exchange(must_save_, false)) dual_.save();
  }

  // Evaluates the objectives, and takes back shrunk coordinates that may have to move. Returns
  // whether the gap is small enough.
  bool check() {
    save_best();
    dual_.settle();
    if (schedule_.n_passes() - summed_at_ >= kPassesPerSum) {
      dual_.sum_up();
      summed_at_ = schedule_.n_passes();
    }
    objective_ = evaluate();
    if (!std::isfinite(primal_) || !std::isfinite(gap_))
      throw NumericError("the objective overflows");
    schedule_.choose_anew();
    for (index_t k = 0; k < dual_.size(); ++k) schedule_.choose(k, is_active_[k], must_move_[k]);
    return gap_ <= options_.tol * primal_;
  }

  // The objectives over all coordinates. Returns that of the dual, but for what is lost in
  // rounding.
  double evaluate() {
    Share all;
    is_active_.resize(static_cast<std::size_t>(dual_.size()));
    must_move_.resize(is_active_.size());
    std::array<Share, kShares> shares;
    dual_.rows().visit([&](const auto& rows) {
      parallel_for(kShares, dual_.check_threads(),
                   [&](index_t s, int thread) { shares[s] = check_share(rows, s, thread); });
    });
    for (const Share& share : shares) all.add(share);
    const double penalty = dual_.penalty();
    Bounds bounds{penalty + all.losses, all.gap};
    if constexpr (kImproves) dual_.improve(bounds);
    primal_ = bounds.primal;
    // No more than takes the bound down to 0, which is one for certain.
    gap_ = bounds.gap + std::min(dual_.rounding(), std::max(0.0, primal_ - bounds.gap));
    must_save_ = primal_ < least_primal_;
    least_primal_ = std::min(least_primal_, primal_);
    least_dual_ = std::min(least_dual_, gap_ - primal_);
    return penalty + all.conjugates;
  }

  template <class Rows> Share check_share(const Rows& rows, index_t s, int thread) {
    Share share;
    const index_t end = (s + 1) * dual_.size() / kShares;
    for (index_t k = s * dual_.size() / kShares; k < end; ++k) {
      if (thread == 0) is_late();
      if (k + static_cast<index_t>(kRowsAhead) < end)
        rows.fetch(dual_.sample(k + static_cast<index_t>(kRowsAhead)));
      const auto status = dual_.status(rows, k);
      if constexpr (kImproves) dual_.keep(k, status);
      share.add({dual_.loss(k, status), dual_.conjugate(k), status.gap});
      is_active_[k] = !status.is_shrinkable(shrink_above_);
      must_move_[k] = status.violation > 0.0;
    }
    return share;
  }

  // Where that is what a look has seen, it does not count for the primal objective: more passes
  // would not see the w that is summed up here.
  optim::StopReason last_check(optim::StopReason reason) {
    const double least = least_primal_;
    if (check()) return optim::StopReason::converged;
    if (reason == optim::StopReason::max_iter && looks_.is_due(n_iter())) {
      least_primal_ = least;
      primal_ = std::numeric_limits<double>::infinity();
    }
    return reason;
  }

  index_t n_iter() const { return options_.passes_before + schedule_.n_passes(); }

  // Called for every row read.
  bool is_late() {
    return time_.is_up_after(dual_.row_elements(), [&] {
      return Progress{.n_iter = n_iter(),
                      .relative_gap = gap_ / primal_,
                      .dual_objective = objective_,
                      .n_free = static_cast<index_t>(schedule_.active().size())};
    });
  }

  Dual& dual_;
  const LinearOptions& options_;
  optim::TimeLimit& time_;
  CoordinateSchedule schedule_;
  PassStagnation stagnation_;
  SlowPasses slow_;
  Looks looks_;
  // As last evaluated; the (dual) objective is also kept up to date by the passes.
  double gap_ = 1.0, primal_ = 1.0, objective_ = 0.0;
  double overshoot_; // of what a pass meets of the gap
  // As ever evaluated; the primal one may be of a point that is not saved yet.
  double least_primal_ = std::numeric_limits<double>::infinity(), least_dual_ = least_primal_;
  bool must_save_ = false;
  std::vector<char> is_active_, must_move_;
  double shrink_above_ = std::numeric_limits<double>::infinity();
  index_t summed_at_ = 0;
};

} // namespace maxmargin::linear
