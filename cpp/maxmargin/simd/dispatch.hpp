#pragma once

#include "maxmargin/base/export.hpp"
#include "maxmargin/simd/kernel_table.hpp"

#include <string>
#include <vector>

namespace maxmargin::simd {

// The tables compiled into this library that this machine can run, the fastest last. In builds for
// tests, the first is "reference": plain scalar code, their oracle.
MAXMARGIN_INSIDE const std::vector<const KernelTable*>& supported_tables();

// The table of that name. Throws InvalidArgument when there is none or the machine cannot run it.
const KernelTable& table_named(const std::string& name);

// The table in use: the fastest, or the one that the environment variable MAXMARGIN_SIMD names,
// read at the first call. Throws as table_named.
MAXMARGIN_INSIDE const KernelTable& active_table();

template <Real T> const RealTable<T>& real_table(const KernelTable& table = active_table()) {
  if constexpr (std::same_as<T, float>)
    return table.f32;
  else
    return table.f64;
}

// The height of a tile that holds `rows` <= tile_rows queries.
constexpr index_t tile_height(index_t rows, index_t tile_rows) {
  for (index_t height = 1; height < tile_rows; height *= 2)
    if (rows <= height) return height;
  return tile_rows;
}

} // namespace maxmargin::simd
