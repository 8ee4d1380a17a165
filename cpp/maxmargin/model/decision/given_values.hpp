#pragma once

#include "maxmargin/model/kernel_model.hpp"

#include <vector>

namespace maxmargin {

// The decision values of a precomputed kernel, whose values are given: of every sample those with
// all training samples, or those with the support vectors alone.
class GivenValues {
 public:
  GivenValues(const KernelModel& model, bool with_all) : rho_(model.parts().rho) {
    const auto& numbers = std::get<DenseSamples<double>>(model.parts().support_vectors).values;
    for (index_t p = 0; p < model.parts().n_machines(); ++p) {
      machines_.push_back(model.expansion(p));
      if (!with_all) continue;
      for (index_t& place : machines_.back().places)
        place = static_cast<index_t>(numbers[static_cast<std::size_t>(place)]) - 1;
    }
  }

  // As those of Decision, of one row.
  template <Real T> void evaluate_row(const T* row, double* out) const {
    for (std::size_t p = 0; p < machines_.size(); ++p) {
      const KernelModel::Expansion& machine = machines_[p];
      double sum = 0.0;
      for (std::size_t k = 0; k < machine.places.size(); ++k)
        sum += machine.beta[k] * static_cast<double>(row[machine.places[k]]);
      out[p] = sum - rho_[p];
    }
  }

 private:
  std::vector<KernelModel::Expansion> machines_; // with places in a row
  std::vector<double> rho_;
};

} // namespace maxmargin
