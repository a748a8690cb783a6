/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a bundle, everything a command would read of it. Checks and digests would stop most inputs at the door, so
 * the first byte chooses: as they are, or with every record's check made right, so that what lies behind it is reached.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <opsdebug/bundle.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CASE_LIMIT ((uint64_t)16 << 20)

/* Length of the varint at bytes, and its value; 0 = none. */
static size_t read_varint(uint64_t *value, const uint8_t *bytes, size_t size)
{
    *value = 0;
    for (size_t i = 0; i < size && i < 5; i++) {
        *value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80) {
            return i + 1;
        }
    }
    return 0;
}

/* Makes sync and check right for each record that starts with 0x0A and a length, one after another. */
static void mend_checks(uint8_t *bytes, size_t size)
{
    static const uint8_t head[] = { 0x81, 0x7d, 0x4b, 0x87, 0xe6, 0xf1, 0xb2, 0x5a, 0x3c, 0x9d, 0x89, 0x7d };
    size_t at = 0;

    while (at + 22 <= size && bytes[at] == 0x0a) {
        uint64_t length = 0;
        size_t used = read_varint(&length, bytes + at + 1, size - at - 1);
        size_t body = at + 1 + used;
        if (used == 0 || length < 20 || length > size - body) {
            return;
        }
        uint64_t check = XXH3_64bits_withSeed(bytes + body + 20, (size_t)length - 20, at);
        memcpy(bytes + body, head, sizeof(head));
        memcpy(bytes + body + sizeof(head), &check, sizeof(check));
        at = body + (size_t)length;
    }
}

static void read_calls(const opd_bundle *bundle)
{
    uint64_t count = opd_bundle_call_count(bundle);

    for (uint64_t i = 0; i < count && i < 64; i++) {
        opd_call call;
        opd_case item;
        uint64_t position = 0;
        char text[256];
        if (opd_bundle_call(&call, bundle, i) != OPD_OK) {
            continue;
        }
        if (opd_bundle_find_call(&position, bundle, call.thread, call.number) != OPD_OK) {
            abort(); /* what can be read can be found */
        }
        opd_call_describe(text, sizeof(text), &call);
        if (opd_case_load(&item, bundle, &call, CASE_LIMIT) == OPD_OK) {
            opd_case copy;
            (void)opd_case_id(&item);
            if (opd_case_copy(&copy, &item) == OPD_OK) {
                opd_case_done(&copy);
            }
            opd_case_done(&item);
        }
    }
}

static void read_rest(const opd_bundle *bundle)
{
    uint32_t pid = 0;
    uint32_t tid = 0;

    for (uint32_t i = 0; i < opd_bundle_thread_count(bundle); i++) {
        if (strlen(opd_bundle_thread(bundle, i, &pid, &tid)) > 63) {
            abort();
        }
        for (uint32_t k = 0; k < opd_bundle_frame_count(bundle, tid); k++) {
            (void)strlen(opd_bundle_frame(bundle, tid, k)->symbol);
        }
    }
    for (uint32_t i = 1; i <= opd_bundle_module_count(bundle); i++) {
        (void)strlen(opd_bundle_module(bundle, i)->path);
    }
    for (uint32_t i = 0; i < opd_bundle_failure_count(bundle); i++) {
        const opd_failure *failure = opd_bundle_failure(bundle, i);
        if (failure->index_rank > OPD_MAX_RANK) {
            abort();
        }
    }
    opd_bundle_damage(bundle, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    opd_bundle *bundle = NULL;
    uint8_t *bytes = NULL;

    if (size < 1 || size > ((size_t)4 << 20) || opd_alloc((void **)&bytes, size) != OPD_OK) {
        return 0;
    }
    memcpy(bytes, data + 1, size - 1);
    if (data[0] & 1) {
        mend_checks(bytes, size - 1);
    }
    opd_error_clear();
    opd_status status = opd_bundle_open_memory(&bundle, bytes, size - 1);
    if (status == OPD_OK) {
        read_calls(bundle);
        read_rest(bundle);
        opd_bundle_close(bundle);
    } else if (opd_error_text()[0] == '\0') {
        abort(); /* every failure has a text */
    }
    opd_free(bytes);
    return 0;
}
