/* SPDX-License-Identifier: Apache-2.0 */
/* xxHash compiled in, for the instruction set of the including file, so that the preloaded object needs no library. */
#ifndef OPD_CORE_XXH3_H
#define OPD_CORE_XXH3_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wundef"
#define XXH_INLINE_ALL
#include <xxhash.h>
#pragma GCC diagnostic pop

#endif
