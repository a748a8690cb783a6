/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms: a probe as one line of text, "shapes | attributes | conditions", which validate prints and takes and which stands beside each deliberately
 * wrong variant. Conditions are words: fill=KIND, dtype=TYPE, and what is done with the call (strided, guard, ...).
 */
#ifndef OPD_CLI_PROBE_FORM_H
#define OPD_CLI_PROBE_FORM_H

#include <stdio.h>

#include "probes.h"

/* errors: E_INVALID names the word that is none and lists those that are. */
opd_status opd_form_parse(opd_probe *out, const char *text);
/* What opd_form_parse reads back as the same probe; "" = the plain call. */
void opd_form_print(char *text, size_t size, const opd_probe *probe);

/* The command that tries the probe once more: by run where run can, else by validate. library, variant: NULL = none. */
typedef struct opd_form_repeat {
    const char *op, *variant, *library;
    uint64_t seed;
} opd_form_repeat;
void opd_form_print_command(FILE *to, const opd_probe *probe, const opd_form_repeat *repeat);

#endif
