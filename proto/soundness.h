/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors of a bundle give their content back: a record can be whole while what it carries is not. */
#ifndef OPD_PROTO_SOUNDNESS_H
#define OPD_PROTO_SOUNDNESS_H

#include "reader.h"

/* Of each blob of the bundle's index why it cannot be read, by which operand of which call; "" = it is of no call, NULL = it can. */
typedef struct opd_soundness {
    const opd_bundle *bundle;
    char **losses;
} opd_soundness;

/*
 * Reads every tensor of the bundle: as the calls that name it see it, with its digest; one that no call names is only decoded. It is sound
 * when one of its calls can read it.
 *
 * limits    the digest of a tensor over 1 GiB is not taken: it is only decoded.
 * errors    E_NOMEM.
 */
opd_status soundness_find(opd_soundness *out, const opd_bundle *bundle);
void soundness_done(opd_soundness *soundness);
bool soundness_of(const opd_soundness *soundness, const opd_digest *digest);
/* Tells of each of a call that cannot be read and is not in copy either. */
void soundness_tell(const opd_soundness *soundness, const opd_index *copy, opd_loss_fn *lost, void *context);

#endif
