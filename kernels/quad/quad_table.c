/* SPDX-License-Identifier: Apache-2.0 */
/* Which definition has a second form; the list is made by CMake from quad.def and elementwise.def. */
#include "quad.h"

#include <opsdebug/memory.h>

#if defined(OPD_HAVE_QUAD)
#define OPD_QUAD(name) extern opd_definition name, quad_##name;
#include <quad_list.inc>
#undef OPD_QUAD

static const struct {
    opd_definition *of, *quad;
} forms[] = {
#define OPD_QUAD(name) { name, quad_##name },
#include <quad_list.inc>
#undef OPD_QUAD
};

opd_definition *opd_quad_find(opd_definition *definition)
{
    for (size_t i = 0; i < OPD_COUNT(forms); i++) {
        if (forms[i].of == definition) {
            return forms[i].quad;
        }
    }
    return NULL;
}
#else
opd_definition *opd_quad_find(opd_definition *definition)
{
    (void)definition;
    return NULL;
}

void opd_quad_widen(void *values, int64_t count)
{
    (void)values;
    (void)count;
}

void opd_quad_compare(double *doubt, const void *value, const void *gauge, const void *wide, int64_t count, double cap)
{
    (void)doubt;
    (void)value;
    (void)gauge;
    (void)wide;
    (void)count;
    (void)cap;
}
#endif
