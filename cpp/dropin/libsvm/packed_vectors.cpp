#include "dropin/libsvm/packed_vectors.hpp"

#include "dropin/nodes.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace maxmargin::dropin {
namespace {

// A feature that a larger share of the vectors has is a line of all: adding one up takes a quarter
// of the time of as many single numbers.
constexpr double kLineShare = 0.25;

// Distances that are found from products are off by some 2^-52 of the squares of the samples, and
// this much of them in the exponent is less than 1e-9.
constexpr double kLongest = 0x1p22;

const simd::RealTable<double>& table() {
  return simd::real_table<double>();
}

bool are_equal(const svm_node& a, const svm_node& b) {
  return a.index == b.index && (a.index == -1 || a.value == b.value);
}

} // namespace

class PackedVectors::Packed {
 public:
  explicit Packed(std::span<svm_node* const> vectors) : l_(std::ssize(vectors)) {
    const NodeMatrix X = matrix_of<Repeated::first>(vectors);
    const auto rows = X.rows.view();
    std::vector<Entry> entries;
    for (index_t i = 0; i < l_; ++i) {
      double square = 0.0;
      for (std::size_t p = 0; p < rows.row_values(i).size(); ++p) {
        const double value = rows.row_values(i)[p];
        entries.push_back({rows.row_indices(i)[p] + X.base, static_cast<std::int32_t>(i), value});
        square += value * value;
      }
      squares_.push_back(square);
      largest_square_ = std::max(largest_square_, square);
    }
    std::ranges::stable_sort(entries, {}, &Entry::index);
    for (auto first = entries.begin(); first != entries.end();) {
      const auto last =
          std::ranges::upper_bound(first, entries.end(), first->index, {}, &Entry::index);
      add_feature({first, last});
      first = last;
    }
  }

  double largest_square() const { return largest_square_; }

  // out += scale times the products of a sample with all vectors.
  void add_products(const svm_node* x, double scale, double* out) const {
    thread_local std::vector<const double*> lines;
    thread_local std::vector<double> factors;
    lines.clear();
    factors.clear();
    auto next = features_.begin();
    for_nodes(x, [&](int index, double value) {
      // Samples often have the features that follow one another.
      if (next == features_.end() || next->index != index)
        next = std::ranges::lower_bound(features_, index, {}, &Feature::index);
      if (next == features_.end() || next->index != index) return;
      const Feature& feature = *next++;
      const double factor = scale * value;
      if (feature.line != nullptr) {
        lines.push_back(feature.line.get());
        factors.push_back(factor);
      } else {
        for (const auto& [vector, number] : feature.numbers) out[vector] += factor * number;
      }
    });
    table().add_rows(lines.data(), factors.data(), std::ssize(lines), out, 0, l_);
  }

  // exp(-gamma |x - z|^2), which is exp(2 gamma x.z - gamma (x.x + z.z)).
  void rbf_values(const svm_node* x, double gamma, double* out) const {
    double square = 0.0;
    for_nodes(x, [&](int, double value) { square += value * value; });
    std::ranges::transform(squares_, out, [&](double own) { return -gamma * (square + own); });
    add_products(x, 2.0 * gamma, out);
    std::transform(out, out + l_, out, [](double exponent) { return std::min(exponent, 0.0); });
    table().exp(out, out, l_);
  }

 private:
  struct Entry {
    std::int64_t index;
    std::int32_t vector;
    double value;
  };
  // The values of the vectors at one index: of all, or those that are not 0.
  struct Feature {
    std::int64_t index;
    std::unique_ptr<double[]> line;
    std::vector<std::pair<std::int32_t, double>> numbers;
  };

  void add_feature(std::span<const Entry> entries) {
    Feature& feature = features_.emplace_back();
    feature.index = entries.front().index;
    if (static_cast<double>(entries.size()) > kLineShare * static_cast<double>(l_))
      feature.line = std::make_unique<double[]>(static_cast<std::size_t>(l_));
    for (const Entry& entry : entries)
      if (feature.line)
        feature.line[static_cast<std::size_t>(entry.vector)] = entry.value;
      else
        feature.numbers.emplace_back(entry.vector, entry.value);
  }

  index_t l_;
  std::vector<Feature> features_; // ascending
  std::vector<double> squares_;   // of the vectors
  double largest_square_ = 0.0;
};

PackedVectors::Probe PackedVectors::probe_of(const svm_model& model, int k) {
  const svm_node* vector = model.SV[std::int64_t{k} * (model.l - 1) / (kProbes - 1)];
  return {vector, *vector};
}

PackedVectors::~PackedVectors() = default;

PackedVectors::PackedVectors(const svm_model& model) : l_(model.l), param_(model.param) {
  for (int k = 0; k < kProbes; ++k) probes_[static_cast<std::size_t>(k)] = probe_of(model, k);
}

bool PackedVectors::are_of(const svm_model& model) const {
  if (model.l != l_ || model.param.kernel_type == PRECOMPUTED) return false;
  for (int k = 0; k < kProbes; ++k) {
    const Probe now = probe_of(model, k), &then = probes_[static_cast<std::size_t>(k)];
    if (now.vector != then.vector || !are_equal(now.first, then.first)) return false;
  }
  return true;
}

bool PackedVectors::values(const svm_model& model, const svm_node* x, double* out) const {
  if (!are_of(model)) return false;
  std::call_once(once_, [&] {
    packed_ = std::make_unique<const Packed>(std::span(model.SV, static_cast<std::size_t>(l_)));
  });
  const svm_parameter& param = model.param;
  if (param.kernel_type == RBF) {
    if (!(param.gamma >= 0.0 && param.gamma * packed_->largest_square() < kLongest)) return false;
    packed_->rbf_values(x, param.gamma, out);
    return true;
  }
  const bool is_linear = param.kernel_type == LINEAR;
  const std::span<double> values(out, static_cast<std::size_t>(l_));
  std::ranges::fill(values, is_linear ? 0.0 : param.coef0);
  packed_->add_products(x, is_linear ? 1.0 : param.gamma, out);
  if (param.kernel_type == SIGMOID) table().tanh(out, out, l_);
  if (param.kernel_type == POLY)
    for (double& value : values) value = power(value, param.degree);
  return true;
}

LiveModels<PackedVectors>& live_models() {
  static LiveModels<PackedVectors> live;
  return live;
}

} // namespace maxmargin::dropin
