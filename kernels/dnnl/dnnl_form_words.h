/* SPDX-License-Identifier: Apache-2.0 */
/* Short words for the tables of forms. Private to them. */
#ifndef OPD_KERNELS_DNNL_FORM_WORDS_H
#define OPD_KERNELS_DNNL_FORM_WORDS_H

#include <opsdebug/memory.h>

#include "dnnl_form.h"

#define IN               OPD_ROLE_IN
#define OUT              OPD_ROLE_OUT
#define INOUT            OPD_ROLE_INOUT
#define NONE             OPD_DNNL_NOWHERE
#define AT(type, member) (uint16_t) offsetof(dnnl_##type##_desc_t, member)

#define DNNL(text, about)                \
    .op = { .domain = OPD_DNNL_DOMAIN,   \
            .name = (text),              \
            .summary = (about),          \
            .signature = "",             \
            .level = 0,                  \
            .attributes = "threads:int", \
            .determinism = OPD_DETERMINISM_RUN }
#define PROP(type)                                 \
    {                                              \
        "prop", OPD_DNNL_PROP, AT(type, prop_kind) \
    }
#define ALG(type)                               \
    {                                           \
        "alg", OPD_DNNL_ALG, AT(type, alg_kind) \
    }

#endif
