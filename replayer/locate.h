/* SPDX-License-Identifier: Apache-2.0 */
/* Where an output is wrong: elements counted along each axis, the pattern they make, what they have in common. */
#ifndef OPD_REPLAYER_LOCATE_H
#define OPD_REPLAYER_LOCATE_H

#include "judge.h"

/* Indices along one axis at which anything is wrong. */
typedef struct opd_axis_map {
    int64_t size, bad; /* indices, of them with a wrong element */
    int64_t low, high; /* the first and the last of them */
    uint32_t *count;   /* wrong elements at each index */
    double *error;     /* sum of log2 of their errors */
} opd_axis_map;

typedef struct opd_bad_map {
    int32_t rank;
    uint64_t count, bad, inner; /* elements; wrong ones; wrong ones further than one index from every border */
    int64_t low, high;          /* first and last wrong one in row-major order */
    opd_axis_map axis[OPD_MAX_RANK];
    /* Of wrong finite elements whose right value is not 0: got / right, got - right. */
    uint64_t compared;
    double ratio_low, ratio_high, difference_low, difference_high;
    uint64_t zeros, nans; /* wrong elements that hold 0, NaN */
    void *memory;
} opd_bad_map;

/* Counts the wrong elements of an output. Needs the reference. */
opd_status opd_bad_map_make(opd_bad_map *out, const opd_judge *judge, int operand);
void opd_bad_map_done(opd_bad_map *map);

/* The pattern along one axis, in words; WHOLE when every index has a wrong element. */
opd_pattern opd_axis_pattern(char *text, size_t size, const opd_axis_map *axis);
/* Do errors grow along it? */
bool opd_axis_grows(const opd_axis_map *axis);

/* Fills out for the output that observed names. */
opd_status opd_locate(opd_location *out, const opd_judge *judge, const opd_failure *observed);

#endif
