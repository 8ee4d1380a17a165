#pragma once

#include "maxmargin/data/views.hpp"

#include <cmath>
#include <random>
#include <vector>

namespace maxmargin::tests {

// Samples of two classes in turn, -1 and 1: normal numbers around -distance / 2 and distance / 2.
struct Clouds {
  Clouds(index_t n_samples, index_t n_features, double distance)
      : n(n_samples), d(n_features), values(static_cast<std::size_t>(n * d)) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    for (index_t i = 0; i < n; ++i) {
      y.push_back(i % 2 == 0 ? -1.0 : 1.0);
      for (index_t k = 0; k < d; ++k) values[i * d + k] = y[i] * distance / 2.0 + normal(random);
    }
  }

  DenseView<double> view() const { return {values.data(), n, d}; }

  double dot(index_t i, const auto& w) const {
    double sum = 0.0;
    for (index_t k = 0; k < d; ++k) sum += values[i * d + k] * w[k];
    return sum;
  }
  double rbf(index_t i, index_t j, double gamma) const {
    double distance = 0.0;
    for (index_t k = 0; k < d; ++k) {
      const double difference = values[i * d + k] - values[j * d + k];
      distance += difference * difference;
    }
    return std::exp(-gamma * distance);
  }

  index_t n, d;
  std::vector<double> values, y;
};

} // namespace maxmargin::tests
