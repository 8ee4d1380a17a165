// Passes over samples: what they give, and that the caller can end every one of them.
#include "maxmargin/base/random.hpp"
#include "maxmargin/data/columns.hpp"
#include "maxmargin/data/compact_samples.hpp"
#include "maxmargin/data/equal_rows.hpp"
#include "maxmargin/data/packed/feature_order.hpp"
#include "maxmargin/data/packed/feature_sets.hpp"
#include "maxmargin/data/packed/packed_csr.hpp"
#include "maxmargin/data/packed/sparse_copy.hpp"
#include "maxmargin/data/scaling.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <doctest/doctest.h>
#include <functional>
#include <tuple>

namespace maxmargin::tests {
namespace {

constexpr index_t kRows = 600, kCols = 70;

// About the given share of the numbers are zero, of each row of a sparse one too.
struct Samples {
  explicit Samples(std::uint64_t zeros_of_eight) : dense(kRows * kCols) {
    Random random(1);
    for (float& x : dense) {
      x = static_cast<float>(1 + random.below(1000)) / 8.0f;
      if (random.below(8) < zeros_of_eight) x = 0.0f;
    }
    for (index_t i = 0; i < kRows; ++i) {
      for (index_t j = 0; j < kCols; ++j)
        if (at(i, j) != 0.0) {
          values.push_back(at(i, j));
          indices.push_back(j);
        }
      indptr.push_back(std::ssize(values));
    }
  }
  double at(index_t i, index_t j) const { return dense[static_cast<std::size_t>(i * kCols + j)]; }
  DenseView<float> view() const { return {dense.data(), kRows, kCols}; }
  CsrView<double, index_t> csr() const {
    return {values.data(), indices.data(), indptr.data(), kRows, kCols};
  }

  std::vector<float> dense;
  std::vector<double> values;
  std::vector<index_t> indices, indptr{0};
};

} // namespace

TEST_CASE("columns hold the entries of the samples, whatever the number of threads") {
  Control unwatched;
  for (const std::uint64_t zeros : {0, 3})
    for (const int threads : {1, 3}) {
      const Samples samples(zeros);
      for (const MatrixView& X : {MatrixView(samples.view()), MatrixView(samples.csr())}) {
        const Columns columns(X, threads, unwatched);
        REQUIRE(columns.n_features() == kCols);
        for (index_t j = 0; j < kCols; ++j) {
          std::vector<std::pair<index_t, double>> expected, found;
          for (index_t i = 0; i < kRows; ++i)
            if (samples.at(i, j) != 0.0) expected.emplace_back(i, samples.at(i, j));
          columns.for_entries(j, [&](index_t i, double x) { found.emplace_back(i, x); });
          CHECK(found == expected);
          CHECK(columns.size(j) == std::ssize(expected));
        }
      }
    }
}

TEST_CASE("equal rows are found by their first") {
  Control unwatched;
  Samples samples(3);
  for (index_t i = 100; i < kRows; i += 7)
    for (index_t j = 0; j < kCols; ++j)
      samples.dense[static_cast<std::size_t>(i * kCols + j)] =
          samples.dense[static_cast<std::size_t>(i % 5 * kCols + j)];
  const std::vector<index_t> first = first_equal_rows(samples.view(), {}, 1, unwatched);
  for (index_t i = 0; i < kRows; ++i) CHECK(first[i] == (i >= 100 && i % 7 == 2 ? i % 5 : i));
}

TEST_CASE("every pass over samples can be ended") {
  const Samples samples(6);
  const MatrixView X = samples.view(), S = samples.csr();
  const std::vector<index_t> rows = identity_order(kRows);
  const auto& table = simd::real_table<double>(simd::active_table());
  Control unwatched;
  const FeatureOrder order(S, unwatched);
  const auto pack = [&](Control& control) {
    PackedCsr<double>(S, rows, {}, simd::Pairing::multiply, order, table, 1, control);
  };
  const std::pair<const char*, std::function<void(Control&)>> passes[] = {
      {"columns", [&](Control& c) { Columns(X, 1, c); }},
      {"columns of sparse rows", [&](Control& c) { Columns(S, 1, c); }},
      {"compact samples", [&](Control& c) { CompactSamples(S, 1, c); }},
      {"sparse copy", [&](Control& c) { SparseCopy<float>(samples.view(), 1, c); }},
      {"equal rows", [&](Control& c) { std::ignore = first_equal_rows(X, {}, 1, c); }},
      {"density", [&](Control& c) { std::ignore = density_of(X, 1, c); }},
      {"scaling", [&](Control& c) { std::ignore = scaling_of(X, true, 1, c); }},
      {"sets", [&](Control& c) { FeatureSets(S, rows, 1, c); }},
      {"packed rows", pack},
  };
  for (const auto& [name, pass] : passes) {
    CAPTURE(name);
    Control ending([](const Progress&) { return false; }, std::chrono::seconds(0));
    CHECK_THROWS_AS(pass(ending), Cancelled);
  }
}

} // namespace maxmargin::tests
