// The readers of text under libFuzzer. The first byte chooses reader and options.

#include "maxmargin/base/control.hpp"
#include "maxmargin/base/error.hpp"
#include "maxmargin/model/model_io.hpp"
#include "maxmargin/model/svmlight_io.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace maxmargin;

// A model that was read is written as the same text again, and predicts.
void read_as_model(std::string_view text, IndexBase base, index_t n_features) {
  const KernelModel model = read_model(text, base, n_features);
  const std::string written = write_model(model);
  const KernelModel again = read_model(written, IndexBase::one, model.parts().n_features);
  if (write_model(again) != written) std::abort();
  constexpr index_t most_features = 4096;
  if (model.parts().n_features > most_features) return;
  const std::vector<double> zeros(static_cast<std::size_t>(model.parts().n_features));
  Control control;
  const DenseView<double> X{zeros.data(), 1, model.parts().n_features};
  model.predict(X, 1, control);
  again.predict(X, 1, control);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int options = data[0];
  const auto base = static_cast<IndexBase>(options % 3);
  const index_t n_features = options % 2 == 0 ? -1 : 7;
  try {
    if (options < 128) {
      read_as_model(text, base, n_features);
    } else {
      Control control;
      read_svmlight(text, {base, n_features, options % 5 == 0, options % 7 == 0}, control);
    }
  } catch (const InvalidArgument&) {
    return 0;
  }
  return 0;
}
