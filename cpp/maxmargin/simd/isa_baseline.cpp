#define MAXMARGIN_TARGET "baseline"
#define MAXMARGIN_TABLE baseline_table
#define MAXMARGIN_VEC_BYTES 16
#ifdef __aarch64__ // NEON has 32 registers, SSE2 16
#define MAXMARGIN_TILE_ROWS 6
#else
#define MAXMARGIN_TILE_ROWS 3
#endif
#define MAXMARGIN_TILE_PANELS 1
#include "maxmargin/simd/kernels.inc.hpp"
