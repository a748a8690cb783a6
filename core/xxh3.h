/* SPDX-License-Identifier: Apache-2.0 */
/* xxHash compiled in, for the instruction set of the including file, so that the preloaded object needs no library. */
#ifndef OPD_CORE_XXH3_H
#define OPD_CORE_XXH3_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wundef"
#if !defined(__clang__)
/* gcc 12 at -O2 takes the path for long input to be reachable with a short header. */
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>
#pragma GCC diagnostic pop

#endif
