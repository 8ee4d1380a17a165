// The library in the place of LIBSVM's under libFuzzer: files, problems and models out of its bytes.
#include "bytes.hpp"
#include "dropin/libsvm/svm.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

using Row = std::vector<svm_node>;

// Indices may repeat and descend; of a problem they may be negative too. With `number` it is a row of
// a precomputed kernel.
Row row_of(Bytes& bytes, bool may_be_bad, int number, int n) {
  Row row;
  if (number > 0) {
    row.push_back({0, static_cast<double>(may_be_bad ? bytes.number(n) : number)});
    for (int k = 1; k <= n; ++k) row.push_back({k, bytes.real()});
  } else {
    for (int k = bytes.take<std::uint8_t>() % 8; k > 0; --k) {
      const int index = bytes.take<std::uint8_t>() % 16;
      const double value = bytes.real();
      row.push_back({may_be_bad && index == 15 ? -2 : index, value});
    }
  }
  row.push_back({-1, 0.0});
  return row;
}

svm_parameter parameter_of(Bytes& bytes) {
  svm_parameter param{};
  param.svm_type = bytes.take<std::uint8_t>() % 6;
  param.kernel_type = bytes.take<std::uint8_t>() % 6;
  param.degree = static_cast<int>(bytes.number(5)) % 100;
  param.gamma = bytes.real();
  param.coef0 = bytes.real();
  param.cache_size = bytes.take<std::uint8_t>();
  param.eps = bytes.take<std::uint8_t>() / 1000.0;
  param.C = bytes.real();
  param.nu = bytes.take<std::uint8_t>() / 200.0;
  param.p = bytes.real();
  param.shrinking = bytes.take<std::uint8_t>() % 2;
  param.probability = bytes.take<std::uint8_t>() % 4 == 0;
  return param;
}

void predict(const svm_model& model, Bytes& bytes) {
  const auto n = static_cast<std::size_t>(model.nr_class);
  std::vector<double> values(n * n + 1), probabilities(n + 2);
  for (int k = 0; k < 3; ++k) {
    const Row row = row_of(bytes, false, model.param.kernel_type == PRECOMPUTED, 6);
    svm_predict(&model, row.data());
    svm_predict_values(&model, row.data(), values.data());
    svm_predict_probability(&model, row.data(), probabilities.data());
  }
  svm_save_model("/dev/null", &model);
  svm_check_probability_model(&model);
  svm_get_svr_probability(&model);
}

void load(Bytes& bytes) {
  const std::string text = bytes.text();
  const int file = memfd_create("model", 0);
  if (file < 0 || write(file, text.data(), text.size()) < 0) std::abort();
  svm_model* model = svm_load_model(("/proc/self/fd/" + std::to_string(file)).c_str());
  close(file);
  if (model != nullptr) predict(*model, bytes);
  svm_free_and_destroy_model(&model);
}

void train(Bytes& bytes) {
  svm_parameter param = parameter_of(bytes);
  const int l = bytes.take<std::uint8_t>() % 16, n_labels = 1 + bytes.take<std::uint8_t>() % 4;
  const bool may_be_bad = bytes.take<std::uint8_t>() % 4 == 0;
  std::vector<Row> rows;
  std::vector<svm_node*> x;
  std::vector<double> y, target(static_cast<std::size_t>(l));
  for (int i = 0; i < l; ++i) {
    rows.push_back(row_of(bytes, may_be_bad, param.kernel_type == PRECOMPUTED ? i + 1 : 0, l));
    y.push_back(may_be_bad ? bytes.real() : bytes.take<std::uint8_t>() % n_labels);
  }
  for (Row& row : rows) x.push_back(row.data());
  std::array labels = {0, 1, static_cast<int>(bytes.number(3) % 4)};
  std::array weights = {bytes.real(), bytes.real(), 2.0};
  param.nr_weight = bytes.take<std::uint8_t>() % 4;
  param.weight_label = labels.data();
  param.weight = weights.data();
  const svm_problem problem{l, y.data(), x.data()};
  svm_check_parameter(&problem, &param);
  svm_cross_validation(&problem, &param, static_cast<int>(bytes.number(4) % 100), target.data());
  svm_model* model = svm_train(&problem, &param);
  if (model != nullptr) predict(*model, bytes);
  svm_free_and_destroy_model(&model);
}

// A model that its caller has built, without what training adds.
void build(Bytes& bytes) {
  svm_model model{};
  model.param = parameter_of(bytes);
  if (model.param.svm_type > NU_SVR || model.param.kernel_type > PRECOMPUTED) return;
  const bool has_classes = model.param.svm_type <= NU_SVC;
  const std::size_t n = has_classes ? 1 + bytes.take<std::uint8_t>() % 4 : 2;
  std::vector<int> label(n), n_vectors(n);
  for (std::size_t c = 0; c < n; ++c) {
    label[c] = static_cast<int>(bytes.number(9));
    model.l += n_vectors[c] = bytes.take<std::uint8_t>() % 4;
  }
  std::vector<Row> rows;
  std::vector<svm_node*> vectors;
  for (int k = 0; k < model.l; ++k)
    rows.push_back(row_of(bytes, false, model.param.kernel_type == PRECOMPUTED ? k + 1 : 0, 6));
  for (Row& row : rows) vectors.push_back(row.data());
  std::vector<std::vector<double>> coef(n - 1, std::vector<double>(rows.size()));
  std::vector<double*> coefs;
  for (std::vector<double>& each : coef) {
    for (double& value : each) value = bytes.real();
    coefs.push_back(each.data());
  }
  std::vector<double> rho(n * n), a(n * n), b(n * n);
  for (double& value : rho) value = bytes.real();
  model.nr_class = static_cast<int>(n);
  model.SV = vectors.data();
  model.sv_coef = coefs.data();
  model.rho = rho.data();
  if (has_classes) {
    model.label = label.data();
    model.nSV = n_vectors.data();
    if (bytes.take<std::uint8_t>() % 2 == 0) model.probA = a.data(), model.probB = b.data();
  }
  predict(model, bytes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  svm_set_print_string_function([](const char*) {});
  svm_set_num_threads(1);
  switch (bytes.take<std::uint8_t>() % 4) {
  case 0:
    load(bytes);
    break;
  case 1:
    build(bytes);
    break;
  default:
    train(bytes);
  }
  return 0;
}
