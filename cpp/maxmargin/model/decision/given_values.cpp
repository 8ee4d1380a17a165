#include "maxmargin/model/decision/given_values.hpp"

namespace maxmargin {

GivenValues::GivenValues(const KernelModel& model, bool with_all) : rho_(model.parts().rho) {
  const auto& numbers = std::get<DenseSamples<double>>(model.parts().support_vectors).values;
  for (index_t p = 0; p < model.parts().n_machines(); ++p) {
    machines_.push_back(model.expansion(p));
    if (!with_all) continue;
    for (index_t& place : machines_.back().places)
      place = static_cast<index_t>(numbers[static_cast<std::size_t>(place)]) - 1;
  }
}

} // namespace maxmargin
