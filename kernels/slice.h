/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a contract's or a wish's text, borrowed from it. Private to kernels/. */
#ifndef OPD_KERNELS_SLICE_H
#define OPD_KERNELS_SLICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct opd_slice {
    const char *at;
    int size;
} opd_slice;

/* NULL gives an empty slice. */
opd_slice opd_slice_of(const char *text);
opd_slice opd_slice_trim(opd_slice text);
bool opd_slice_equal(opd_slice a, opd_slice b);
bool opd_slice_is(opd_slice text, const char *word);
/* Letters, digits and _, not starting with a digit. */
bool opd_slice_is_name(opd_slice text);
/* Drops the ending when the text has it. */
bool opd_slice_drop(opd_slice *text, const char *ending);

/* Cuts the next item of a list whose separators count only outside brackets; false at the end. Items are trimmed. */
bool opd_slice_next(opd_slice *item, opd_slice *rest, char separator);
/* "name(arguments)" or "name". */
opd_slice opd_slice_head(opd_slice item, opd_slice *arguments);
/* The whole text as a number; false when it is none or does not fit. */
bool opd_slice_int(int64_t *out, opd_slice text);
bool opd_slice_real(double *out, opd_slice text);
/* "[1, 2]" or "1,2": values[0 .. capacity); their number, -1 when it is no such list or longer. */
int opd_slice_ints(int64_t *values, int capacity, opd_slice text);

#endif
