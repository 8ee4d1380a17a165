#pragma once

#include "maxmargin/base/types.hpp"
#include "maxmargin/optim/stop_reason.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

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

  // Calls visit(name, member) for every field.
  template <class Visit> static void for_each_field(const Visit& visit) {
    visit("stop_reason", &Certificate::stop_reason);
    visit("dual_objective", &Certificate::dual_objective);
    visit("primal_objective", &Certificate::primal_objective);
    visit("kkt_violation", &Certificate::kkt_violation);
    visit("n_iter", &Certificate::n_iter);
    visit("n_free", &Certificate::n_free);
    visit("n_bounded", &Certificate::n_bounded);
    visit("kernel_rows", &Certificate::kernel_rows);
    visit("kernel_values", &Certificate::kernel_values);
    visit("cache_hits", &Certificate::cache_hits);
    visit("cache_misses", &Certificate::cache_misses);
    visit("seconds", &Certificate::seconds);
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

// The certificates of many machines (2 million, of 2,000 classes), by field. Fields that are 0 for
// all take no memory. Different threads may set different ones at the same time.
class Certificates {
 public:
  explicit Certificates(index_t size) : size_(size) {
    Certificate::for_each_field([&](const char*, auto) {
      void* const zeros = std::calloc(static_cast<std::size_t>(size), sizeof(double));
      if (zeros == nullptr) throw std::bad_alloc();
      columns_.emplace_back(zeros, std::free);
    });
  }
  explicit Certificates(const Certificate& only) : Certificates(1) { set(0, only); }

  index_t size() const { return size_; }

  Certificate operator[](index_t machine) const {
    Certificate certificate;
    for_each_column([&](auto member, const auto* column) {
      using Field = std::decay_t<decltype(certificate.*member)>;
      certificate.*member = static_cast<Field>(column[machine]);
    });
    return certificate;
  }

  void set(index_t machine, const Certificate& certificate) {
    for_each_column([&](auto member, auto* column) {
      using Number = std::decay_t<decltype(*column)>;
      const auto value = static_cast<Number>(certificate.*member);
      constexpr Number zero = 0; // -0.0 is another
      if (std::memcmp(&value, &zero, sizeof value) != 0) column[machine] = value;
    });
  }

  // Calls visit(name, column) for every field: a shared pointer to its numbers, by machine.
  template <class Visit> void share_columns(const Visit& visit) const {
    auto column = columns_.begin();
    Certificate::for_each_field([&]<class Field>(const char* name, Field Certificate::*) {
      visit(name, std::static_pointer_cast<Kept<Field>>(*column++));
    });
  }

 private:
  // What a field is kept as.
  template <class Field>
  using Kept = std::conditional_t<std::is_same_v<Field, double>, double, index_t>;

  template <class Visit> void for_each_column(const Visit& visit) const {
    auto column = columns_.begin();
    Certificate::for_each_field([&]<class Field>(const char*, Field Certificate::* member) {
      visit(member, static_cast<Kept<Field>*>((column++)->get()));
    });
  }

  index_t size_;
  std::vector<std::shared_ptr<void>> columns_;
};

} // namespace maxmargin
