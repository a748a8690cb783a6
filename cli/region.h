/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a tensor as a user writes it: "[16, 70, 100..110]". */
#ifndef OPD_CLI_REGION_H
#define OPD_CLI_REGION_H

#include <opsdebug/op.h>

typedef struct opd_region {
    int32_t rank;
    int64_t low[OPD_MAX_RANK], high[OPD_MAX_RANK]; /* ends excluded; high -1 = to the end of the dimension */
} opd_region;

/* Indices and ranges LOW..HIGH (both included), ".." for a whole dimension. errors: E_SYNTAX. */
opd_status opd_region_parse(opd_region *out, const char *text);
/* Made to fit a view: dimensions that the text lacks are whole. errors: E_INVALID more dimensions than the view has, or beyond one. */
opd_status opd_region_fit(opd_region *region, const char *name, const opd_tensor *view);
/* The region of another operand that has the same indices along the symbols both have; whole elsewhere. */
opd_region opd_region_of(const opd_call *call, int operand, int from, const opd_region *region);
/* The part itself, in place. */
opd_tensor opd_region_view(const opd_tensor *view, const opd_region *region);
/* "X[0, 2..3, 0..7]" */
void opd_region_print(char *text, size_t size, const char *name, const opd_region *region);

#endif
