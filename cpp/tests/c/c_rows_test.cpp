// The C interface, one row at a time: the values of whole samples, without taking memory.
#include "tests/c/handles.hpp"
#include "tests/clouds.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <numeric>
#include <thread>

namespace {

std::atomic<long> n_allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++n_allocations;
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, whole > 0 ? whole : alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Not inlined: GCC would take the pointer for one of its own operator new.
[[gnu::noinline]] void freed(void* memory) {
  std::free(memory);
}

} // namespace

void* operator new(std::size_t size) {
  return counted(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  freed(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  freed(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  freed(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  freed(memory);
}

namespace maxmargin::tests {
namespace {

Owned<mm_predictor> predictor_of(const mm_model& model, mm_type type) {
  mm_predictor* predictor = nullptr;
  REQUIRE(mm_predictor_new(&model, type, &predictor) == MM_OK);
  return Owned<mm_predictor>(predictor);
}

Owned<mm_scratch> scratch_of(const mm_predictor& predictor) {
  mm_scratch* scratch = nullptr;
  const mm_status status = mm_scratch_new(&predictor, &scratch);
  REQUIRE_MESSAGE(status == MM_OK, mm_last_error());
  return Owned<mm_scratch>(scratch);
}

// What whole samples and single rows give.
struct Predicted {
  std::vector<double> values, predicted;
  bool operator==(const Predicted&) const = default;
};

constexpr index_t kRows = 30;

Predicted by_matrix(const mm_model& model, const mm_samples& X) {
  std::int64_t n_functions = 0;
  REQUIRE(mm_model_count(&model, "functions", &n_functions) == MM_OK);
  Predicted all{std::vector<double>(static_cast<std::size_t>(kRows * n_functions)),
                std::vector<double>(kRows)};
  REQUIRE(mm_decision_values(&model, &X, nullptr, all.values.data()) == MM_OK);
  REQUIRE(mm_predict(&model, &X, nullptr, all.predicted.data()) == MM_OK);
  return all;
}

// The first rows, each of all its numbers and of those that are not 0.
template <Real T>
std::vector<Predicted> by_row(const mm_model& model, const std::vector<T>& values, index_t d,
                              mm_type packed) {
  const auto predictor = predictor_of(model, packed);
  const auto scratch = scratch_of(*predictor);
  const mm_type type = sizeof(T) == sizeof(float) ? MM_FLOAT32 : MM_FLOAT64;
  std::int64_t n_functions = 0;
  REQUIRE(mm_model_count(&model, "functions", &n_functions) == MM_OK);
  std::vector<Predicted> all(3, {std::vector<double>(static_cast<std::size_t>(kRows * n_functions)),
                                 std::vector<double>(kRows)});
  std::vector<std::int64_t> wide(static_cast<std::size_t>(d));
  std::vector<std::int32_t> narrow(static_cast<std::size_t>(d));
  std::vector<T> stored(static_cast<std::size_t>(d));
  long n_taken = 0;
  for (index_t i = 0; i < kRows; ++i) {
    const T* row = values.data() + i * d;
    std::int64_t n = 0;
    for (index_t k = 0; k < d; ++k)
      if (row[k] != T(0)) {
        wide[n] = k;
        narrow[n] = static_cast<std::int32_t>(k);
        stored[n++] = row[k];
      }
    const auto at = [&](Predicted& of) { return of.values.data() + i * n_functions; };
    const long before = n_allocations;
    mm_status status = mm_predictor_row(predictor.get(), scratch.get(), row, type, d, 1, at(all[0]),
                                        &all[0].predicted[i]);
    if (status == MM_OK)
      status =
          mm_predictor_sparse_row(predictor.get(), scratch.get(), stored.data(), type,
                                  narrow.data(), MM_INT32, n, at(all[1]), &all[1].predicted[i]);
    if (status == MM_OK)
      status = mm_predictor_sparse_row(predictor.get(), scratch.get(), stored.data(), type,
                                       wide.data(), MM_INT64, n, at(all[2]), &all[2].predicted[i]);
    n_taken += n_allocations - before;
    REQUIRE_MESSAGE(status == MM_OK, mm_last_error());
  }
  CHECK(n_taken == 0);
  return all;
}

// Numbers >= 0, of which so many in a hundred are not 0, that float32 holds.
std::vector<double> some_of(const Clouds& clouds, unsigned percent) {
  std::mt19937 random(3);
  std::vector<double> values = clouds.values;
  for (double& x : values)
    x = random() % 100 < percent ? static_cast<double>(static_cast<float>(std::abs(x))) : 0.0;
  return values;
}

std::vector<double> labels_of(const Clouds& clouds, index_t n_classes) {
  std::vector<double> y;
  for (index_t i = 0; i < clouds.n; ++i) y.push_back(10.0 - 3.0 * (i % n_classes));
  return y;
}

void check_close(const Predicted& by_row, const Predicted& expected, double error) {
  for (std::size_t i = 0; i < expected.values.size(); ++i)
    CHECK(by_row.values[i] == doctest::Approx(expected.values[i]).epsilon(error).scale(1.0));
}

// Linear machines add up sparse rows, and those in float32, in an order of their own.
void check_same(const mm_model& model, const std::vector<double>& values, index_t n, index_t d) {
  const Predicted expected = by_matrix(model, *samples_of(values, kRows, d));
  const std::vector<Predicted> wide = by_row(model, values, d, MM_FLOAT64);
  CHECK(wide[0] == expected);
  for (const Predicted& each : wide) check_close(each, expected, 1e-12);
  const std::vector<float> narrow(values.begin(), values.begin() + n * d);
  for (const Predicted& each : by_row(model, narrow, d, MM_FLOAT64))
    check_close(each, expected, 1e-12);
  for (const Predicted& each : by_row(model, values, d, MM_FLOAT32))
    check_close(each, expected, 1e-4);
}

} // namespace

TEST_CASE("rows of every kernel, dense and sparse, predict what whole samples do") {
  constexpr index_t n = 80, d = 23;
  const Clouds clouds(n, d, 1.0);
  for (const unsigned percent : {100U, 10U}) {
    const std::vector<double> values = some_of(clouds, percent);
    const auto X = samples_of(values, n, d);
    for (const char* kernel : {"rbf", "linear", "poly", "sigmoid", "laplacian", "chi_squared",
                               "histogram_intersection"}) {
      CAPTURE(kernel);
      const auto options = options_of("svc");
      REQUIRE(mm_options_set_text(options.get(), "kernel", kernel) == MM_OK);
      check_same(*fitted(*options, *X, clouds.y.data()), values, n, d);
    }
  }
}

TEST_CASE("rows of every estimator predict what whole samples do, of 2, 3, 7 and 40 classes") {
  constexpr index_t n = 80, d = 5;
  const Clouds clouds(n, d, 1.0);
  const std::vector<double> values = some_of(clouds, 90);
  const auto X = samples_of(values, n, d);
  for (const char* name : {"svr", "nu_svr", "linear_svr", "one_class"}) {
    CAPTURE(name);
    check_same(*fitted(*options_of(name), *X, clouds.y.data()), values, n, d);
  }
  for (const char* name : {"svc", "nu_svc", "linear_svc", "perceptron", "sgd"})
    for (const index_t n_classes : {2, 3, 7, 40}) {
      CAPTURE(name);
      CAPTURE(n_classes);
      const std::vector<double> y = labels_of(clouds, n_classes);
      check_same(*fitted(*options_of(name), *X, y.data()), values, n, d);
    }
}

TEST_CASE("rows of a model of thousands of features, and of many support vectors") {
  constexpr index_t n = 60, d = 6000; // features have an order of their own from 4,096 on
  const Clouds clouds(n, d, 0.5);
  const std::vector<double> values = some_of(clouds, 2);
  check_same(*fitted(*options_of("svc"), *samples_of(values, n, d), clouds.y.data()), values, n, d);

  constexpr index_t n_many = 1400; // more than are evaluated at a time, and not a whole line
  const Clouds many(n_many + 3, 4, 0.1);
  const std::vector<double> numbers = some_of(many, 100);
  check_same(*fitted(*options_of("svc"), *samples_of(numbers, n_many + 3, 4), many.y.data()),
             numbers, n_many, 4);
}

TEST_CASE("a precomputed kernel's rows are its values with all training samples") {
  const char text[] = "svm_type epsilon_svr\nkernel_type precomputed\nnr_class 2\ntotal_sv 2\n"
                      "rho 0.5\nSV\n2 0:1 \n-3 0:4 \n";
  mm_model* read = nullptr;
  REQUIRE(mm_model_from_text(text, sizeof text - 1, 0, &read) == MM_OK);
  const Owned<mm_model> model(read);
  std::int64_t d = 0;
  REQUIRE(mm_model_count(read, "features", &d) == MM_OK);
  std::vector<double> row(static_cast<std::size_t>(d));
  std::iota(row.begin(), row.end(), 1.0);
  const auto predictor = predictor_of(*model, MM_FLOAT32);
  const auto scratch = scratch_of(*predictor);
  double value = 0.0;
  REQUIRE(mm_predictor_row(predictor.get(), scratch.get(), row.data(), MM_FLOAT64, d, 1, nullptr,
                           &value) == MM_OK);
  CHECK(value == 2.0 * 1.0 - 3.0 * 4.0 - 0.5);
  const std::int32_t index = 0;
  CHECK(contains(refused(mm_predictor_sparse_row(predictor.get(), scratch.get(), row.data(),
                                                 MM_FLOAT64, &index, MM_INT32, 1, nullptr, &value)),
                 "dense"));
}

TEST_CASE("rows whose numbers are apart are read where they stand, and take memory once") {
  constexpr index_t n = 40, d = 6;
  const Clouds clouds(n, d, 1.0);
  const auto X = samples_of(clouds.values, n, d);
  const auto check = [&](const mm_model& model, auto number) {
    using T = decltype(number);
    const auto predictor = predictor_of(model, MM_FLOAT64);
    const auto scratch = scratch_of(*predictor);
    const mm_type type = sizeof(T) == sizeof(float) ? MM_FLOAT32 : MM_FLOAT64;
    const std::vector<T> rows(clouds.values.begin(), clouds.values.end());
    std::vector<T> columns(rows.size());
    for (index_t i = 0; i < n; ++i)
      for (index_t k = 0; k < d; ++k) columns[k * n + i] = rows[i * d + k];
    double expected = 0.0, value = 0.0;
    long n_taken = 0;
    for (index_t i = 0; i < n; ++i) {
      REQUIRE(mm_predictor_row(predictor.get(), scratch.get(), &rows[i * d], type, d, 1, &expected,
                               nullptr) == MM_OK);
      const long before = n_allocations;
      REQUIRE(mm_predictor_row(predictor.get(), scratch.get(), &columns[i], type, d, n, &value,
                               nullptr) == MM_OK);
      if (i > 0) n_taken += n_allocations - before;
      CHECK(value == expected);
    }
    CHECK(n_taken == 0);
    CHECK(contains(refused(mm_predictor_row(predictor.get(), scratch.get(), columns.data(), type,
                                            d + 1, n, &value, nullptr)),
                   "6 features, got 7"));
  };
  for (const char* name : {"svc", "linear_svc"}) {
    const auto model = fitted(*options_of(name), *X, clouds.y.data());
    check(*model, float{});
    check(*model, double{});
  }
}

TEST_CASE("far rows are far in float32 too") {
  const Clouds clouds(40, 3, 1.0);
  const auto model = fitted(*options_of("svc"), *samples_of(clouds.values, 40, 3), clouds.y.data());
  const double* rho = nullptr;
  std::size_t n = 0;
  REQUIRE(mm_model_array(model.get(), "rho", &rho, &n) == MM_OK);
  const auto predictor = predictor_of(*model, MM_FLOAT32);
  const auto scratch = scratch_of(*predictor);
  for (const double far : {1e12, 1e30, 1e39, -1e300}) {
    const double row[] = {far, -far, far};
    double value = 0.0;
    REQUIRE(mm_predictor_row(predictor.get(), scratch.get(), row, MM_FLOAT64, 3, 1, &value,
                             nullptr) == MM_OK);
    CHECK(value == rho[0]); // of two classes, positive for the second
  }
}

TEST_CASE("rows that mean nothing are refused, and the next one is right") {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const Clouds clouds(40, 3, 1.0);
  auto model = fitted(*options_of("svc"), *samples_of(clouds.values, 40, 3), clouds.y.data());
  const auto predictor = predictor_of(*model, MM_FLOAT64), other = predictor_of(*model, MM_FLOAT64);
  const auto scratch = scratch_of(*predictor);
  double expected = 0.0, value = 0.0;
  const auto row = [&](const double* numbers, index_t n_features = 3, mm_type type = MM_FLOAT64) {
    return mm_predictor_row(predictor.get(), scratch.get(), numbers, type, n_features, 1, &value,
                            nullptr);
  };
  REQUIRE(row(clouds.values.data()) == MM_OK);
  expected = value;
  const double nan[] = {1.0, 2.0, kNaN}, infinite[] = {HUGE_VAL, 0.0, 0.0};
  CHECK(contains(refused(row(nan)), "not finite"));
  CHECK(contains(refused(row(infinite)), "not finite"));
  CHECK(contains(refused(row(nullptr)), "row must not be NULL"));
  CHECK(contains(refused(row(clouds.values.data(), 2)), "3 features, got 2"));
  CHECK(contains(refused(row(clouds.values.data(), 3, MM_INT32)), "type"));
  const auto sparse = [&](std::vector<std::int64_t> indices, const double* numbers) {
    return mm_predictor_sparse_row(predictor.get(), scratch.get(), numbers, MM_FLOAT64,
                                   indices.data(), MM_INT64, std::ssize(indices), &value, nullptr);
  };
  CHECK(contains(refused(sparse({1, 0}, clouds.values.data())), "ascend"));
  CHECK(contains(refused(sparse({1, 1}, clouds.values.data())), "ascend"));
  CHECK(contains(refused(sparse({-1}, clouds.values.data())), "ascend"));
  CHECK(contains(refused(sparse({0, 3}, clouds.values.data())), "below"));
  CHECK(contains(refused(sparse({0, 1, 2}, nan)), "not finite"));
  CHECK(contains(refused(sparse({0, 1, 2, 3}, clouds.values.data())), "n_stored"));
  CHECK(contains(refused(sparse({0}, nullptr)), "values"));
  CHECK(contains(refused(mm_predictor_row(other.get(), scratch.get(), clouds.values.data(),
                                          MM_FLOAT64, 3, 1, &value, nullptr)),
                 "scratch"));
  CHECK(contains(refused(mm_predictor_row(nullptr, scratch.get(), clouds.values.data(), MM_FLOAT64,
                                          3, 1, &value, nullptr)),
                 "predictor"));
  CHECK(contains(refused(mm_predictor_row(predictor.get(), nullptr, clouds.values.data(),
                                          MM_FLOAT64, 3, 1, &value, nullptr)),
                 "scratch"));
  mm_predictor* none = nullptr;
  CHECK(contains(refused(mm_predictor_new(nullptr, MM_FLOAT64, &none)), "model"));
  CHECK(contains(refused(mm_predictor_new(model.get(), MM_INT64, &none)), "type"));
  CHECK(none == nullptr);
  model.reset(); // the predictor stays
  REQUIRE(row(clouds.values.data()) == MM_OK);
  CHECK(value == expected);
}

TEST_CASE("eight threads predict rows by one predictor") {
  const Clouds clouds(60, 4, 1.0);
  const auto X = samples_of(clouds.values, 60, 4);
  const auto model = fitted(*options_of("svr"), *X, clouds.y.data());
  std::vector<double> expected(60);
  REQUIRE(mm_predict(model.get(), X.get(), nullptr, expected.data()) == MM_OK);
  const auto predictor = predictor_of(*model, MM_FLOAT64);
  std::vector<int> is_right(8, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const auto scratch = scratch_of(*predictor);
      bool same = true;
      for (index_t i = 0; i < 600; ++i) {
        double value = 0.0;
        same &= mm_predictor_row(predictor.get(), scratch.get(), &clouds.values[i % 60 * 4],
                                 MM_FLOAT64, 4, 1, nullptr, &value) == MM_OK;
        same &= value == expected[static_cast<std::size_t>(i % 60)];
      }
      is_right[t] = same;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(is_right == std::vector<int>(8, 1));
}

} // namespace maxmargin::tests
