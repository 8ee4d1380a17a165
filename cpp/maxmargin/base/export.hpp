#pragma once

// Marks what the shared library exports; all else stays inside it.
#if defined(MAXMARGIN_EXPORTS)
#define MAXMARGIN_API __attribute__((visibility("default")))
#else
#define MAXMARGIN_API
#endif
