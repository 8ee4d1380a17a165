// Models of the C interface that were read: what a bad file is refused with, and probabilities.
#include "tests/c/handles.hpp"
#include "tests/clouds.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

namespace maxmargin::tests {
namespace {

Owned<mm_model> read(const std::string& text, index_t n_features = 0) {
  mm_model* model = nullptr;
  const mm_status status = mm_model_from_text(text.data(), text.size(), n_features, &model);
  REQUIRE_MESSAGE(status == MM_OK, mm_last_error());
  return Owned<mm_model>(model);
}

// f = x, and P(label 2) = 1 / (1 + exp(-2 f + 0.5)), where svm-train met label 2 first.
const std::string kPair = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\n"
                          "label 2 -1\nprobA -2\nprobB 0.5\nnr_sv 1 1\nSV\n0.5 1:1\n-0.5 1:-1\n";

std::vector<double> probabilities_of(const mm_model& model, const mm_samples& X, std::size_t n) {
  std::vector<double> out(n);
  const mm_status status = mm_probabilities(&model, &X, nullptr, out.data());
  REQUIRE_MESSAGE(status == MM_OK, mm_last_error());
  return out;
}

index_t count_of(const mm_model& model, const char* name) {
  std::int64_t count = -1;
  REQUIRE(mm_model_count(&model, name, &count) == MM_OK);
  return count;
}

} // namespace

TEST_CASE("a file that is no model is named in the message") {
  mm_model* none = nullptr;
  const auto load = [&](const char* path, mm_status expected) {
    return refused(mm_model_load(path, 0, &none), expected);
  };
  CHECK(load(".", MM_FILE_ERROR) == ".: Is a directory");
  CHECK(load("no/such.model", MM_FILE_ERROR) == "no/such.model: No such file or directory");
  for (const char* text : {"", "svm_type c_svc\nkernel_type cubic\n", "solver_type L2R_LR\nw\n"}) {
    std::ofstream("c_model_test.model") << text;
    CHECK(load("c_model_test.model", MM_INVALID_ARGUMENT).starts_with("c_model_test.model: "));
  }
  std::ofstream("c_model_test.model") << kPair.substr(0, kPair.size() / 2);
  CHECK(load("c_model_test.model", MM_INVALID_ARGUMENT).starts_with("c_model_test.model: "));
  std::remove("c_model_test.model");
  CHECK(none == nullptr);
  CHECK(refused(mm_model_save(read(kPair).get(), "."), MM_FILE_ERROR) == ".: Is a directory");
}

TEST_CASE("a model with probA and probB has the probabilities of its classes") {
  const auto model = read(kPair);
  CHECK(count_of(*model, "probabilities") == 2);
  const std::vector<double> values{-1.5, 0.0, 0.25, 3.0};
  const auto X = samples_of(values, 4, 1);
  const auto found = probabilities_of(*model, *X, 8);
  for (std::size_t i = 0; i < 4; ++i) {
    const double of_two = 1.0 / (1.0 + std::exp(-2.0 * values[i] + 0.5));
    CHECK(found[2 * i] == doctest::Approx(1.0 - of_two)); // labels ascend: -1, 2
    CHECK(found[2 * i + 1] == doctest::Approx(of_two));
  }
  // By columns the same, and with the options of a prediction.
  mm_samples* apart = nullptr;
  const std::vector<double> wide{-1.5, 9.0, 0.0, 9.0, 0.25, 9.0, 3.0, 9.0};
  REQUIRE(mm_samples_dense(wide.data(), MM_FLOAT64, 4, 1, 2, 1, &apart) == MM_OK);
  CHECK(probabilities_of(*model, *Owned<mm_samples>(apart), 8) == found);
  const auto stop = options_of("prediction");
  REQUIRE(mm_options_set_number(stop.get(), "n_jobs", 1.0) == MM_OK);
  std::vector<double> again(8);
  REQUIRE(mm_probabilities(model.get(), X.get(), stop.get(), again.data()) == MM_OK);
  CHECK(again == found);
}

TEST_CASE("probabilities of many rows are those of each, of three classes and of sparse rows") {
  const auto model =
      read("svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho 0 0.1 -0.2\n"
           "label 1 2 3\nprobA -2 -1 -3\nprobB 0.5 0 0.1\nnr_sv 1 1 1\nSV\n"
           "0.5 0.2 1:1\n-0.5 0.3 1:-1\n-0.2 -0.3 1:2\n");
  CHECK(count_of(*model, "probabilities") == 3);
  const index_t n = 200000; // more than a block
  std::vector<double> values;
  std::vector<std::int32_t> indices(n, 0), indptr;
  for (index_t i = 0; i < n; ++i) {
    values.push_back(std::sin(static_cast<double>(i % 7)));
    indptr.push_back(static_cast<std::int32_t>(i));
  }
  indptr.push_back(static_cast<std::int32_t>(n));
  const auto few = probabilities_of(*model, *samples_of(values, 7, 1), 21);
  for (std::size_t i = 0; i < 7; ++i)
    CHECK(few[3 * i] + few[3 * i + 1] + few[3 * i + 2] == doctest::Approx(1.0));
  const auto of_dense = probabilities_of(*model, *samples_of(values, n, 1), 3 * n);
  index_t n_same = 0;
  for (index_t i = 0; i < 3 * n; ++i) n_same += of_dense[i] == few[i % 21];
  CHECK(n_same == 3 * n);
  mm_samples* sparse = nullptr;
  REQUIRE(mm_samples_csr(values.data(), MM_FLOAT64, indices.data(), indptr.data(), MM_INT32, n, 1,
                         &sparse) == MM_OK);
  CHECK(probabilities_of(*model, *Owned<mm_samples>(sparse), 3 * n) == of_dense);
}

TEST_CASE("a one-class model with density marks has the probabilities of inside and outside") {
  const auto model = read("svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\n"
                          "prob_density_marks -5 -4 -3 -2 -1 1 2 3 4 5\nSV\n1 1:1\n");
  CHECK(count_of(*model, "probabilities") == 2);
  CHECK(count_of(*model, "classes") == 0);
  const auto found = probabilities_of(*model, *samples_of({-9.0, 0.5, 9.0}, 3, 1), 6);
  CHECK(found[0] < 0.1);
  CHECK(found[4] > 0.9);
  for (std::size_t i = 0; i < 6; i += 2) CHECK(found[i] + found[i + 1] == doctest::Approx(1.0));
}

TEST_CASE("a model without probabilities refuses to give any") {
  const Clouds clouds(40, 2, 1.0);
  const auto X = samples_of(clouds.values, clouds.n, 2);
  double out[80];
  for (const char* name : {"svc", "linear_svc", "one_class", "svr"}) {
    CAPTURE(name);
    const auto model = fitted(*options_of(name), *X, clouds.y.data());
    CHECK(count_of(*model, "probabilities") == 0);
    CHECK(contains(refused(mm_probabilities(model.get(), X.get(), nullptr, out)),
                   "model must have probabilities"));
  }
  const auto model = read(kPair);
  CHECK(
      contains(refused(mm_probabilities(model.get(), X.get(), nullptr, out)), "1 features, got 2"));
  CHECK(contains(refused(mm_probabilities(model.get(), nullptr, nullptr, out)), "X"));
  CHECK(contains(
      refused(mm_probabilities(model.get(), samples_of({1.0}, 1, 1).get(), nullptr, nullptr)),
      "out"));
  CHECK(contains(refused(mm_probabilities(nullptr, X.get(), nullptr, out)), "model"));
}

} // namespace maxmargin::tests
