/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates: a case made from another by changing its call. Views come from the contract (linked over all operands);
 * data are sliced from the case it is made from.
 */
#ifndef OPD_DERIVE_H
#define OPD_DERIVE_H

#include <opsdebug/bundle.h>

/* Element a slice must keep, per symbol of the call; -1 = any. */
typedef struct opd_focus {
    int64_t at[OPD_MAX_SYMBOLS];
} opd_focus;

typedef enum opd_slicing {
    OPD_SLICE_PREFIX,   /* elements keep their indices */
    OPD_SLICE_WINDOW,   /* shifted so that the focus stays inside */
    OPD_SLICE_SEPARATE, /* prefix, operands that overlapped moved apart, alignment given up */
} opd_slicing;

/*
 * The case of call (bound, from the same operator as from) with data of from; elements that from does not have repeat those it has, by
 * index modulo its shape. Operands without data in from have none. focus is used by WINDOW only.
 * limit     bytes of operands.
 */
opd_status opd_derive(opd_case *out, const opd_case *from, const opd_call *call, opd_slicing slicing,
                      const opd_focus *focus, uint64_t limit);

/* Is there an element of focus outside a prefix of call's sizes? */
bool opd_focus_is_outside(const opd_focus *focus, const opd_call *call);
/* Focus from the bad element of failure, else from the first non-finite or the largest element of the inputs. */
void opd_focus_find(opd_focus *out, const opd_case *item, const opd_failure *failure);

/* Do two operands share memory in another way than by being the same pointer? */
bool opd_case_overlaps(const opd_case *item);
/* What opd_case_id does not say: alignment of the operands and how they overlap. */
uint64_t opd_case_placement(const opd_case *item);
/* Digests of the data as it is now; statistics and digests of results, which belong to the recorded call, are dropped. */
void opd_case_refresh(opd_case *item);
/* Existing elements of all operands. */
uint64_t opd_call_elements(const opd_call *call);

/* Letters or type of an attribute in the contract ("NTCR", "T", "dim", "int"); false when name is a stride argument or unknown. */
bool opd_attribute_spec(char *spec, size_t size, const opd_op *op, const char *name);

#endif
