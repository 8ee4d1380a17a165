// The library in the place of LIBLINEAR's under libFuzzer: files and problems out of its bytes.
#include "bytes.hpp"
#include "dropin/liblinear/linear.h"

#include <array>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

using Row = std::vector<feature_node>;

// Indices may repeat and descend; those of a problem may also be none of its features.
Row row_of(Bytes& bytes, int n, bool may_be_bad) {
  Row row;
  for (int k = bytes.take<std::uint8_t>() % 8; k > 0; --k) {
    const int index = bytes.take<std::uint8_t>();
    row.push_back({may_be_bad ? index % 16 - 2 : 1 + index % n, bytes.real()});
    if (row.back().index == -1) row.back().index = 0;
  }
  return row;
}

void predict(const model& model, Bytes& bytes) {
  std::vector<double> values(static_cast<std::size_t>(model.nr_class) + 2);
  for (int k = 0; k < 3; ++k) {
    Row row = row_of(bytes, 1, true);
    row.push_back({-1, 0.0});
    predict(&model, row.data());
    predict_values(&model, row.data(), values.data());
    predict_probability(&model, row.data(), values.data());
  }
  for (int j = -1; j < 4; ++j) get_decfun_coef(&model, j, static_cast<int>(bytes.number(4)));
  get_decfun_bias(&model, static_cast<int>(bytes.number(4)));
  save_model("/dev/null", &model);
}

void load(Bytes& bytes) {
  const std::string text = bytes.text();
  const int file = memfd_create("model", 0);
  if (file < 0 || write(file, text.data(), text.size()) < 0) std::abort();
  model* read = load_model(("/proc/self/fd/" + std::to_string(file)).c_str());
  close(file);
  if (read != nullptr) predict(*read, bytes);
  free_and_destroy_model(&read);
}

void train(Bytes& bytes) {
  constexpr std::array kSolvers = {0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 21, 8};
  parameter param{};
  param.solver_type = kSolvers[bytes.take<std::uint8_t>() % kSolvers.size()];
  param.eps = bytes.take<std::uint8_t>() / 500.0;
  param.C = bytes.real();
  param.p = bytes.real();
  param.nu = bytes.take<std::uint8_t>() / 200.0;
  param.regularize_bias = bytes.take<std::uint8_t>() % 8 != 0;
  const int l = bytes.take<std::uint8_t>() % 16, n_labels = 1 + bytes.take<std::uint8_t>() % 4;
  const int n = 1 + bytes.take<std::uint8_t>() % 8;
  const bool may_be_bad = bytes.take<std::uint8_t>() % 4 == 0;
  const double bias = bytes.take<std::uint8_t>() % 2 == 0 ? -1.0 : 1.0;
  std::vector<Row> rows;
  std::vector<feature_node*> x;
  std::vector<double> y, target(static_cast<std::size_t>(l));
  for (int i = 0; i < l; ++i) {
    rows.push_back(row_of(bytes, n, may_be_bad));
    if (bias >= 0.0 && !(may_be_bad && i % 4 == 0)) rows.back().push_back({n + 1, bias});
    rows.back().push_back({-1, 0.0});
    y.push_back(may_be_bad ? bytes.real() : bytes.take<std::uint8_t>() % n_labels);
  }
  for (Row& row : rows) x.push_back(row.data());
  std::array labels = {0, 1, static_cast<int>(bytes.number(3) % 4)};
  std::array weights = {bytes.real(), bytes.real(), 2.0};
  param.nr_weight = bytes.take<std::uint8_t>() % 4;
  param.weight_label = labels.data();
  param.weight = weights.data();
  std::vector<double> start(64);
  for (double& w : start) w = bytes.real();
  if (bytes.take<std::uint8_t>() % 4 == 0) param.init_sol = start.data();
  const problem task{l, n + (bias >= 0.0 ? 1 : 0), y.data(), x.data(), bias};
  check_parameter(&task, &param);
  cross_validation(&task, &param, static_cast<int>(bytes.number(4) % 100), target.data());
  model* trained = train(&task, &param);
  if (trained != nullptr) predict(*trained, bytes);
  free_and_destroy_model(&trained);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  set_print_string_function([](const char*) {});
  if (bytes.take<std::uint8_t>() % 4 == 0)
    load(bytes);
  else
    train(bytes);
  return 0;
}
