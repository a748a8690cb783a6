/* SPDX-License-Identifier: Apache-2.0 */
/* How a case's operands are laid out; shared by the files that load, copy and identify cases. */
#ifndef OPD_PROTO_CASE_H
#define OPD_PROTO_CASE_H

#include <opsdebug/bundle.h>

/* Addresses that a group of operands took in the recorded process. */
typedef struct case_span {
    uint64_t low, high;
    bool is_placed;
} case_span;

typedef struct case_layout {
    int group[OPD_MAX_OPERANDS];       /* operands of one group share a block */
    case_span spans[OPD_MAX_OPERANDS]; /* by group */
    bool is_null[OPD_MAX_OPERANDS];    /* gets no memory */
    uint64_t alignment;                /* addresses are restored modulo this */
} case_layout;

/* Views must be checked. */
void case_layout_recorded(case_layout *out, const opd_call *call);
void case_layout_separate(case_layout *out, const opd_call *call);
/* Makes blocks and sets data and storage of item->call's operands; on failure item is to be done. fill: byte; 0 leaves zeros. */
opd_status case_place(opd_case *item, const case_layout *layout, int fill, uint64_t limit);
opd_status case_check_views(const opd_call *call);
/* Recorded addresses [low, high) of an operand's elements; false when unknown, empty or impossible. */
bool case_has_range(uint64_t *low, uint64_t *high, const opd_operand *operand);

#endif
