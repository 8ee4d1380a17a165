#define MAXMARGIN_TARGET "avx512"
#define MAXMARGIN_TABLE avx512_table
#define MAXMARGIN_VEC_BYTES 64
#define MAXMARGIN_TILE_ROWS 12
#define MAXMARGIN_TILE_PANELS 2
#include "maxmargin/simd/kernels.inc.hpp"
