#pragma once

#include "maxmargin/base/types.hpp"
#include "maxmargin/optim/stop_reason.hpp"

namespace maxmargin {

// The certificate of one fit. The objectives are those of svm/formulation.hpp, with float64 kernel
// values; the dual one is minimised, in LIBSVM's sign and scale. Where the solver worked on float32
// values, their rounding may change the dual objective by 1e-6 of it, and the primal objective by a
// tenth of the duality gap or of 0.01 tol sum |beta|, whichever is larger.
struct Certificate {
  double dual_objective = 0.0;
  double primal_objective = 0.0; // at the model's rho
  double kkt_violation = 0.0;
  optim::StopReason stop_reason = optim::StopReason::converged;
  index_t n_iter = 0;
  index_t n_free = 0;    // samples whose beta is between its bounds
  index_t n_bounded = 0; // samples whose beta is at one that is not 0
  index_t kernel_rows = 0;
  index_t kernel_values = 0; // what several machines share counts with the first of them
  index_t cache_hits = 0;
  index_t cache_misses = 0;
  double seconds = 0.0;

  // Calls visit(name, get) for every field, which get(certificate) gives.
  template <class Visit> static void for_each_field(const Visit& visit) {
    const auto field = [](auto member) {
      return [member](const Certificate& certificate) { return certificate.*member; };
    };
    visit("stop_reason", [](const Certificate& c) { return static_cast<int>(c.stop_reason); });
    visit("dual_objective", field(&Certificate::dual_objective));
    visit("primal_objective", field(&Certificate::primal_objective));
    visit("kkt_violation", field(&Certificate::kkt_violation));
    visit("n_iter", field(&Certificate::n_iter));
    visit("n_free", field(&Certificate::n_free));
    visit("n_bounded", field(&Certificate::n_bounded));
    visit("kernel_rows", field(&Certificate::kernel_rows));
    visit("kernel_values", field(&Certificate::kernel_values));
    visit("cache_hits", field(&Certificate::cache_hits));
    visit("cache_misses", field(&Certificate::cache_misses));
    visit("seconds", field(&Certificate::seconds));
  }

  // Takes the state that a further fit reached, and counts its work in.
  void add(Certificate further) {
    further.n_iter += n_iter;
    further.kernel_rows += kernel_rows;
    further.kernel_values += kernel_values;
    further.cache_hits += cache_hits;
    further.cache_misses += cache_misses;
    further.seconds += seconds;
    *this = further;
  }
};

} // namespace maxmargin
