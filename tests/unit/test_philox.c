/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 against the known answers of the Random123 distribution (kat_vectors). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <opsdebug/memory.h>
#include <opsdebug/random.h>

static const struct {
    uint32_t counter[4];
    uint32_t key[2];
    uint32_t block[4];
} answers[] = {
    { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
      { 0xffffffff, 0xffffffff },
      { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
      { 0xa4093822, 0x299f31d0 },
      { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
};

static void blocks_are_the_published_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(answers); i++) {
        uint32_t block[4];
        opd_philox(block, answers[i].counter, answers[i].key);
        assert_memory_equal(block, answers[i].block, sizeof(block));
    }
}

/* Recipes in bundles depend on how seed, stream and index are laid out in counter and key. */
static void layout_of_seed_stream_and_index_is_pinned(void **state)
{
    (void)state;
    uint64_t pair[2];
    opd_random_pair(pair, UINT64_C(0x299f31d0a4093822), UINT64_C(0x0370734413198a2e), UINT64_C(0x85a308d3243f6a88));
    assert_true(pair[0] == UINT64_C(0x94fdccebd16cfe09));
    assert_true(pair[1] == UINT64_C(0x24126ea15001e420));
    assert_true(opd_random_u64(0, 0, 0) == UINT64_C(0xe169c58d6627e8d5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_the_published_ones),
        cmocka_unit_test(layout_of_seed_stream_and_index_is_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
