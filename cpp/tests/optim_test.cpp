// The Cholesky factor.
#include "maxmargin/optim/cholesky.hpp"

#include <cmath>
#include <doctest/doctest.h>

namespace maxmargin::tests {

TEST_CASE("a solution solves, and an indefinite matrix is refused") {
  for (const index_t n : {1, 7, 64, 131}) {
    // K_ij = exp(-|i - j| / 10) is positive definite.
    std::vector<double> matrix(static_cast<std::size_t>(n * n)), b(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) {
      b[i] = std::sin(static_cast<double>(i));
      for (index_t j = 0; j < n; ++j)
        matrix[i * n + j] = std::exp(-std::abs(static_cast<double>(i - j)) / 10.0);
    }
    const double ridge = 0.25;
    optim::Cholesky cholesky;
    REQUIRE(cholesky.factor(matrix.data(), n, n, ridge));
    std::vector<double> x = b;
    cholesky.solve(x);
    for (index_t i = 0; i < n; ++i) {
      double sum = ridge * x[i];
      for (index_t j = 0; j < n; ++j) sum += matrix[i * n + j] * x[j];
      CHECK(sum == doctest::Approx(b[i]).epsilon(1e-10));
    }
    matrix.back() = -1.0;
    CHECK_FALSE(cholesky.factor(matrix.data(), n, n, ridge));
  }
}

} // namespace maxmargin::tests
