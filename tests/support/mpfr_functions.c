/* SPDX-License-Identifier: Apache-2.0 */
/* The functions as MPFR has them, or made of those it has. */
#include "mpfr_functions.h"

#include <string.h>

#include <mpfr.h>

typedef void truth(mpfr_t out, const mpfr_t x, const mpfr_t y);

static void true_exp(mpfr_t out, const mpfr_t x, const mpfr_t y)
{
    (void)y;
    mpfr_exp(out, x, MPFR_RNDN);
}

static void true_log(mpfr_t out, const mpfr_t x, const mpfr_t y)
{
    (void)y;
    mpfr_log(out, x, MPFR_RNDN);
}

static void true_erf(mpfr_t out, const mpfr_t x, const mpfr_t y)
{
    (void)y;
    mpfr_erf(out, x, MPFR_RNDN);
}

static void true_tanh(mpfr_t out, const mpfr_t x, const mpfr_t y)
{
    (void)y;
    mpfr_tanh(out, x, MPFR_RNDN);
}

/* 1 / (1 + exp(-x)) */
static void true_sigmoid(mpfr_t out, const mpfr_t x, const mpfr_t y)
{
    (void)y;
    mpfr_neg(out, x, MPFR_RNDN);
    mpfr_exp(out, out, MPFR_RNDN);
    mpfr_add_ui(out, out, 1, MPFR_RNDN);
    mpfr_ui_div(out, 1, out, MPFR_RNDN);
}

static void true_pow(mpfr_t out, const mpfr_t x, const mpfr_t y)
{
    mpfr_pow(out, x, y, MPFR_RNDN);
}

/* x/2 erfc(-x / sqrt 2) */
static void true_gelu(mpfr_t out, const mpfr_t x, const mpfr_t y)
{
    mpfr_t root;
    (void)y;
    mpfr_init2(root, mpfr_get_prec(out));
    mpfr_sqrt_ui(root, 2, MPFR_RNDN);
    mpfr_div(out, x, root, MPFR_RNDN);
    mpfr_neg(out, out, MPFR_RNDN);
    mpfr_erfc(out, out, MPFR_RNDN);
    mpfr_mul(out, out, x, MPFR_RNDN);
    mpfr_div_ui(out, out, 2, MPFR_RNDN);
    mpfr_clear(root);
}

static const struct function {
    mpfr_function described;
    truth *truth;
} functions[] = {
    { { "Exp", 1, 2, false }, true_exp },         { { "Log", 1, 2, false }, true_log },
    { { "Erf", 1, 2, false }, true_erf },         { { "Tanh", 1, 3, false }, true_tanh },
    { { "Sigmoid", 1, 3, false }, true_sigmoid }, { { "Pow", 2, 2, false }, true_pow },
    { { "Gelu", 1, 3, true }, true_gelu },
};

int mpfr_function_count(void)
{
    return (int)(sizeof functions / sizeof functions[0]);
}

const mpfr_function *mpfr_function_at(int index)
{
    return &functions[index].described;
}

const mpfr_function *mpfr_function_find(const char *name)
{
    for (int i = 0; i < mpfr_function_count(); i++) {
        if (strcmp(functions[i].described.name, name) == 0) {
            return &functions[i].described;
        }
    }
    return NULL;
}

long double mpfr_function_value(const mpfr_function *function, long double x, long double y)
{
    mpfr_t a;
    mpfr_t b;
    mpfr_t value;
    const struct function *known = (const struct function *)function; /* its first member */
    mpfr_inits2(160, a, b, value, (mpfr_ptr)NULL);
    mpfr_set_ld(a, x, MPFR_RNDN);
    mpfr_set_ld(b, y, MPFR_RNDN);
    known->truth(value, a, b);
    long double rounded = mpfr_get_ld(value, MPFR_RNDN);
    mpfr_clears(a, b, value, (mpfr_ptr)NULL);
    return rounded;
}
