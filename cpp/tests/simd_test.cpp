// Every target that this machine can run, against the plain code of the reference.
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace maxmargin::tests {

namespace {

constexpr index_t kQueries = 5, kDepth = 9, kPanels = 3, kColumns = kPanels * kLane<double>;

// Kernel values of a few rows, packed as the target has them.
std::vector<double> values(const simd::RealTable<double>& table,
                           const simd::Epilogue<double>& epilogue) {
  const auto number = [](index_t i, index_t k) { return std::sin(static_cast<double>(7 * i + k)); };
  index_t height = 1; // of the last tile
  while (height < kQueries % table.tile_rows && height < table.tile_rows) height *= 2;
  const index_t n_whole = kQueries / table.tile_rows * table.tile_rows;
  height = std::min(height, table.tile_rows);
  std::vector<double> queries(static_cast<std::size_t>((n_whole + height) * kDepth), 0.0);
  std::vector<double> half_norms(static_cast<std::size_t>(n_whole + height), 0.0);
  for (index_t i = 0; i < kQueries; ++i)
    for (index_t k = 0; k < kDepth; ++k) {
      const index_t tile = i / table.tile_rows * table.tile_rows;
      const index_t rows = tile < n_whole ? table.tile_rows : height;
      queries[tile * kDepth + k * rows + i - tile] = number(i, k);
      half_norms[i] += number(i, k) * number(i, k) / 2.0;
    }
  constexpr index_t panel = (kDepth + 1) * kLane<double>;
  std::vector<double> panels(static_cast<std::size_t>(kPanels * panel), 0.0);
  std::vector<const double*> starts;
  for (index_t p = 0; p < kPanels; ++p) {
    starts.push_back(panels.data() + p * panel);
    for (index_t c = 0; c < kLane<double>; ++c)
      for (index_t k = 0; k < kDepth; ++k) {
        const double x = number(100 + p * kLane<double> + c, k);
        panels[p * panel + k * kLane<double> + c] = x;
        panels[p * panel + kDepth * kLane<double> + c] += x * x / 2.0;
      }
  }
  std::vector<double> results(static_cast<std::size_t>(kQueries * kColumns));
  std::vector<double*> out;
  for (index_t i = 0; i < kQueries; ++i) out.push_back(results.data() + i * kColumns);
  simd::DenseBlock<double> block;
  block.queries = queries.data();
  block.query_half_norms = half_norms.data();
  block.n_queries = kQueries;
  block.depth = kDepth;
  block.panels = starts.data();
  block.n_panels = kPanels;
  block.epilogue = &epilogue;
  block.out = out.data();
  table.dense_block(block);
  return results;
}

} // namespace

TEST_CASE("kernel values of every target are those of the reference") {
  simd::Epilogue<double> epilogues[4];
  epilogues[1].transform = simd::Transform::exponential;
  epilogues[1].scale = 0.3;
  epilogues[2].transform = simd::Transform::power;
  epilogues[2].degree = 3;
  epilogues[2].offset = 0.5;
  epilogues[3].transform = simd::Transform::composed; // half the cube, plus the exponential
  epilogues[3].n_steps = 3;
  epilogues[3].steps[0].leaf = epilogues[2];
  epilogues[3].steps[0].weight = 0.5;
  epilogues[3].steps[1].leaf = epilogues[1];
  epilogues[3].steps[2].kind = simd::StepKind::add;
  for (const simd::KernelTable* target : simd::supported_tables())
    for (const simd::Epilogue<double>& epilogue : epilogues) {
      CAPTURE(std::string(target->name));
      const std::vector<double> found = values(target->f64, epilogue);
      const std::vector<double> expected = values(simd::table_named("reference").f64, epilogue);
      for (std::size_t k = 0; k < found.size(); ++k)
        CHECK(found[k] == doctest::Approx(expected[k]).epsilon(1e-13));
    }
}

TEST_CASE("exponentials are within 1.5 units of the last place") {
  for (const simd::KernelTable* target : simd::supported_tables()) {
    CAPTURE(std::string(target->name));
    for (double x = -700.0; x <= 0.0; x += 0.37) {
      double y = 0.0;
      target->f64.exp(&x, &y, 1);
      const double exact = std::exp(x);
      CHECK(std::abs(y - exact) <= 2.0 * (std::nextafter(exact, 2.0) - exact));
    }
  }
}

} // namespace maxmargin::tests
