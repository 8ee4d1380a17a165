#define MAXMARGIN_TARGET "avx2"
#define MAXMARGIN_TABLE avx2_table
#define MAXMARGIN_VEC_BYTES 32
#define MAXMARGIN_TILE_ROWS 6
#define MAXMARGIN_TILE_PANELS 1
#include "maxmargin/simd/kernels.inc.hpp"
