#include "dropin/guarded.hpp"
#include "dropin/libsvm/packed_vectors.hpp"
#include "dropin/nodes.hpp"
#include "maxmargin/base/random.hpp"
#include "maxmargin/model/pair_layout.hpp"
#include "maxmargin/model/votes.hpp"
#include "maxmargin/simd/dispatch.hpp"

#include <cmath>

namespace maxmargin::dropin {
namespace {

double dot(const svm_node* x, const svm_node* z) {
  double sum = 0.0;
  while (x->index != -1 && z->index != -1) {
    if (x->index == z->index)
      sum += x++->value * z++->value;
    else
      ++(x->index < z->index ? x : z);
  }
  return sum;
}

double squared_distance(const svm_node* x, const svm_node* z) {
  double sum = 0.0;
  while (x->index != -1 || z->index != -1) {
    double difference = 0.0;
    if (x->index == z->index)
      difference = x++->value - z++->value;
    else if (z->index == -1 || (x->index != -1 && x->index < z->index))
      difference = x++->value;
    else
      difference = z++->value;
    sum += difference * difference;
  }
  return sum;
}

// The values of a model that the caller built, node by node.
void plain_values(const svm_model& model, const svm_node* x, double* out) {
  const svm_parameter& param = model.param;
  double length = 0.0;
  for_nodes(x, [&](int, double) { ++length; });
  for (int k = 0; k < model.l; ++k) {
    const svm_node* z = model.SV[k];
    switch (param.kernel_type) {
    case LINEAR:
      out[k] = dot(x, z);
      break;
    case POLY:
      out[k] = power(param.gamma * dot(x, z) + param.coef0, param.degree);
      break;
    case RBF:
      out[k] = std::exp(-param.gamma * squared_distance(x, z));
      break;
    case SIGMOID:
      out[k] = std::tanh(param.gamma * dot(x, z) + param.coef0);
      break;
    default:
      out[k] = z->value >= 0.0 && z->value < length ? x[static_cast<int>(z->value)].value : 0.0;
    }
  }
}

// Memory of a thread, which lasts from one prediction to the next.
struct Scratch {
  std::vector<double> kernel, values;
  std::vector<index_t> votes, order, begin;

  void prepare(const svm_model& model) {
    kernel.resize(static_cast<std::size_t>(std::max(model.l, 0)));
    const index_t n = model.nr_class;
    values.resize(static_cast<std::size_t>(std::max<index_t>(1, n_pairs(n))));
    if (model.label == nullptr || std::ssize(order) == n) return;
    votes.resize(static_cast<std::size_t>(n));
    order = identity_order(n);
    begin.resize(static_cast<std::size_t>(n));
  }
};

bool has_classes(const svm_model& model) {
  return model.param.svm_type == C_SVC || model.param.svm_type == NU_SVC;
}

// The decision values go into values; returns what svm_predict does.
double decide(const svm_model& model, const svm_node* x, Scratch& work, double* values) {
  work.prepare(model);
  double* const kernel = work.kernel.data();
  const PackedVectors* packed = live_models().find(model.SV);
  if (packed == nullptr || !packed->values(model, x, kernel)) plain_values(model, x, kernel);
  const auto sum = [&, dot_of = simd::real_table<double>().dot](index_t row, index_t begin,
                                                                index_t n) {
    return dot_of(model.sv_coef[row] + begin, kernel + begin, n);
  };
  if (!has_classes(model)) {
    values[0] = sum(0, 0, model.l) - model.rho[0];
    return model.param.svm_type != ONE_CLASS ? values[0] : values[0] > 0.0 ? 1.0 : -1.0;
  }
  const index_t n = model.nr_class;
  for (index_t i = 0, at = 0; i < n; at += model.nSV[i++])
    work.begin[static_cast<std::size_t>(i)] = at;
  for (index_t i = 0, p = 0; i < n; ++i)
    for (index_t j = i + 1; j < n; ++j, ++p)
      values[p] = sum(coef_row(i, j), work.begin[static_cast<std::size_t>(i)], model.nSV[i]) +
                  sum(coef_row(j, i), work.begin[static_cast<std::size_t>(j)], model.nSV[j]) -
                  model.rho[p];
  return model.label[vote_winner(values, work.order, work.votes)];
}

Scratch& scratch() {
  thread_local Scratch work;
  return work;
}

double predict_probability(const svm_model& model, const svm_node* x, double* probabilities) {
  Scratch& work = scratch();
  const double predicted = decide(model, x, work, work.values.data());
#if MAXMARGIN_LAYOUT >= 330
  if (model.param.svm_type == ONE_CLASS && model.prob_density_marks != nullptr) {
    probabilities[0] =
        inside_probability(work.values[0], {model.prob_density_marks, kDensityMarks});
    probabilities[1] = 1.0 - probabilities[0];
  }
#endif
  if (!has_classes(model) || model.probA == nullptr || model.probB == nullptr) return predicted;
  const index_t n = model.nr_class;
  if (n < 2) {
    probabilities[0] = 1.0;
    return predicted;
  }
  const auto n_machines = static_cast<std::size_t>(n_pairs(n));
  const std::vector<double> p =
      pair_probabilities(work.values, {model.probA, n_machines}, {model.probB, n_machines}, n);
  std::ranges::copy(p, probabilities);
  return model.label[std::ranges::max_element(p) - p.begin()];
}

} // namespace
} // namespace maxmargin::dropin

using namespace maxmargin::dropin;

double svm_predict_values(const svm_model* model, const svm_node* x, double* values) {
  if (model == nullptr || x == nullptr || values == nullptr) return 0.0;
  return guarded(0.0, [&] { return decide(*model, x, scratch(), values); });
}

double svm_predict(const svm_model* model, const svm_node* x) {
  if (model == nullptr || x == nullptr) return 0.0;
  return guarded(0.0, [&] {
    Scratch& work = scratch();
    work.prepare(*model);
    return decide(*model, x, work, work.values.data());
  });
}

double svm_predict_probability(const svm_model* model, const svm_node* x, double* probabilities) {
  if (model == nullptr || x == nullptr || probabilities == nullptr) return 0.0;
  return guarded(0.0, [&] {
    scratch().prepare(*model);
    return predict_probability(*model, x, probabilities);
  });
}
