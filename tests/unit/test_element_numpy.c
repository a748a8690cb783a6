/* SPDX-License-Identifier: Apache-2.0 */
/* f16, bf16 and f32 conversions against numpy, and against exact rational arithmetic for bf16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/memory.h>
#include <opsdebug/random.h>
#include <opsdebug/tensor.h>

#include "numpy_process.h"

#define VALUES 20000

static void require_pattern(opd_dtype dtype, double value, uint64_t expected)
{
    uint32_t bits = 0;
    opd_element_store(dtype, &bits, value, 0.0);
    if (value != value) { /* which NaN is the platform's choice */
        double back;
        double im;
        opd_element_load(dtype, &bits, &back, &im);
        assert_true(back != back);
        return;
    }
    if (bits != expected) {
        print_error("%a as %s: %x, not %" PRIx64 "\n", value, opd_dtype_name(dtype), bits, expected);
    }
    assert_int_equal(bits, expected);
}

/* Half of the values lie exactly between two patterns of f16 or bf16, or one bit beside that; exponents cover under- and overflow. */
static double tricky_value(uint64_t i)
{
    uint64_t bits = opd_random_u64(11, 3, i);
    int fraction_bits = (i & 1) != 0 ? 10 : 7;
    int span = (i & 1) != 0 ? 50 : 300;
    uint64_t exponent = (uint64_t)(1023 - span / 2 - 4 + (int)((bits >> 52) % (uint64_t)span));
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if ((i & 2) != 0) {
        int keep = (int)(bits >> 63) + fraction_bits + 1 - (int)((bits >> 40) % 12); /* shorter ones for subnormals */
        keep = keep < 1 ? 1 : keep;
        fraction = fraction >> (52 - keep) << (52 - keep);
        fraction |= (i & 12) == 0 ? UINT64_C(1) << (52 - keep) : 0;
        fraction += (i & 12) == 4 ? 1 : 0;
    }
    bits = (bits & UINT64_C(1) << 63) | exponent << 52 | (fraction & ((UINT64_C(1) << 52) - 1));
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static const double plain_values[] = { 0.0,        -0.0,         65504.0,       65519.999,  65520.0,
                                       -65520.0,   0x1p-24,      0x1p-25,       0x1.8p-25,  0x1.000001p-25,
                                       0x1p-14,    0x1.ffcp-15,  0x1p-133,      0x1p-134,   0x1.1p-134,
                                       0x1.fep127, 0x1.ffp127,   0x1.fefffp127, 5e-324,     1.7976931348623157e308,
                                       -1e-310,    1.0009765625, 1.00048828125, 1.00390625, 1.01171875 };

static void stores_round_to_nearest_even(void **state)
{
    (void)state;
    char path[64];
    FILE *file = numpy_file(path);
    assert_non_null(file);
    for (uint64_t i = 0; i < VALUES + OPD_COUNT(plain_values); i++) {
        (void)fprintf(file, "%a\n", i < VALUES ? tricky_value(i) : plain_values[i - VALUES]);
    }
    (void)fclose(file);
    FILE *answers = numpy_run("narrow", path);
    assert_non_null(answers);
    for (uint64_t i = 0; i < VALUES + OPD_COUNT(plain_values); i++) {
        double value = i < VALUES ? tricky_value(i) : plain_values[i - VALUES];
        uint64_t half;
        uint64_t brain;
        uint64_t single;
        assert_int_equal(fscanf(answers, "%" SCNx64 " %" SCNx64 " %" SCNx64, &half, &brain, &single), 3);
        require_pattern(OPD_F16, value, half);
        require_pattern(OPD_BF16, value, brain);
        require_pattern(OPD_F32, value, single);
    }
    assert_int_equal(pclose(answers), 0);
    assert_int_equal(unlink(path), 0);
}

static void every_short_pattern_loads_exactly(void **state)
{
    (void)state;
    FILE *answers = numpy_run("widen", NULL);
    assert_non_null(answers);
    const opd_dtype dtypes[] = { OPD_F16, OPD_BF16 };
    for (size_t d = 0; d < OPD_COUNT(dtypes); d++) {
        for (unsigned pattern = 0; pattern < 65536; pattern++) {
            uint64_t expected;
            uint16_t bits = (uint16_t)pattern;
            double re;
            double im;
            assert_int_equal(fscanf(answers, "%" SCNx64, &expected), 1);
            opd_element_load(dtypes[d], &bits, &re, &im);
            uint64_t got;
            memcpy(&got, &re, sizeof(got));
            uint64_t quiet = re != re ? UINT64_C(1) << 51 : 0;
            assert_true((got | quiet) == (expected | quiet));
            uint16_t back = 0;
            opd_element_store(dtypes[d], &back, re, 0.0);
            assert_true(re != re || back == bits);
        }
    }
    assert_int_equal(pclose(answers), 0);
}

int main(void)
{
    if (!numpy_is_here()) {
        (void)fprintf(stderr, "skipped: /usr/bin/python3 has no numpy (apt install python3-numpy)\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_round_to_nearest_even),
        cmocka_unit_test(every_short_pattern_loads_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
