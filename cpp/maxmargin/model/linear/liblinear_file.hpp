#pragma once

#include "maxmargin/base/export.hpp"
#include "maxmargin/model/linear/linear_model.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace maxmargin {

// LIBLINEAR's numbers of what a machine minimises, and by what method (train -s).
enum LiblinearSolver : int {
  kLogistic = 0,
  kSquaredHingeDual = 1,
  kSquaredHinge = 2,
  kHingeDual = 3,
  kCrammerSinger = 4,
  kSquaredHingeL1 = 5,
  kLogisticL1 = 6,
  kLogisticDual = 7,
  kSquaredRegression = 11,
  kSquaredRegressionDual = 12,
  kRegressionDual = 13,
  kLinearOneClass = 21
};

// Whether it is one of them.
MAXMARGIN_API bool is_liblinear_solver(int solver);
inline bool is_liblinear_regression(int solver) {
  return solver >= kSquaredRegression && solver <= kRegressionDual;
}
inline bool has_liblinear_classes(int solver) {
  return solver <= kLogisticDual;
}

// LIBLINEAR's model files (save_model), as they are. Of two classes there is one function, positive
// for the first, but of Crammer and Singer's machine.
struct LiblinearFile {
  int solver = kSquaredHinge;
  index_t n_classes = 2;            // 2, too, where there are none
  std::vector<std::int32_t> labels; // of classes
  index_t n_features = 0;
  double bias = -1.0;    // the value of a further feature; < 0: there is none
  double rho = 0.0;      // of the one-class machine, whose decision value is w.x - rho
  std::vector<double> w; // a row for every feature, a column for every function

  index_t n_weights() const { return n_features + (bias >= 0.0 ? 1 : 0); }
  index_t n_functions() const { return n_classes == 2 && solver != kCrammerSinger ? 1 : n_classes; }
};

// Throws: InvalidArgument, with line number, on anything else. Nothing is allocated on the word of
// a number in the text, and a text that was cut short is refused.
MAXMARGIN_API LiblinearFile read_liblinear(std::string_view text);
// Numbers have the fewest digits that give back the same bits.
MAXMARGIN_API std::string write_liblinear(const LiblinearFile& file);

struct LabelledLinearModel {
  LinearModel model;
  std::vector<double> labels; // of the classes, in the order of the file
};

// Whether a text is such a file, rather than LIBSVM's.
MAXMARGIN_API bool is_linear_model(std::string_view text);
// Throws also where the file holds a one-class machine or a single class, which LinearModel does
// not know.
MAXMARGIN_API LabelledLinearModel read_linear_model(std::string_view text);
// As a machine of a squared loss, since a model does not know what it was trained by; nothing of
// its prediction depends on that. Throws InvalidArgument when a label is not a 32-bit integer.
MAXMARGIN_API std::string write_linear_model(const LinearModel& model,
                                             const std::vector<double>& labels);

} // namespace maxmargin
