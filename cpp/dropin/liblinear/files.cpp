#include "maxmargin/base/files.hpp"
#include "dropin/liblinear/library.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/model/linear/liblinear_file.hpp"

using namespace maxmargin;
using namespace maxmargin::dropin;

int save_model(const char* path, const model* model) {
  return guarded(-1, [&] {
    if (path == nullptr || model == nullptr || !is_liblinear_solver(model->param.solver_type))
      return -1;
    LiblinearFile file;
    file.solver = model->param.solver_type;
    file.n_classes = model->nr_class;
    if (model->label != nullptr) file.labels.assign(model->label, model->label + model->nr_class);
    file.n_features = model->nr_feature;
    file.bias = model->bias;
    file.rho = rho_of(*model);
    if (file.n_classes < 1 || file.n_features < 0) return -1;
    file.w.assign(model->w, model->w + file.n_weights() * file.n_functions());
    return write_file(path, write_liblinear(file)) ? 0 : -1;
  });
}

model* load_model(const char* path) {
  return reported(static_cast<model*>(nullptr), [&]() -> model* {
    if (path == nullptr) return nullptr;
    const std::optional<std::string> text = read_file(path);
    if (!text) return nullptr;
    const LiblinearFile file = read_liblinear(*text);
    parameter param{};
    param.solver_type = file.solver;
    if (file.solver == kLinearOneClass && !is_one_class(file.solver))
      throw InvalidArgument("this version knows no one-class machine");
    OwnedModel model = new_model(param, static_cast<int>(file.n_features), file.bias,
                                 {file.labels.data(), file.labels.size()}, file.w);
    set_rho(*model, file.rho);
    return model.release();
  });
}
