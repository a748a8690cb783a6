/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a bundle, exported in every format. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <opsdebug/view.h>

#include "fuzz_mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX ((size_t)1 << 20)

/* Counts what it is given. */
typedef struct counting_sink {
    opd_sink base; /* first, so that a pointer to it is a pointer to the whole */
    uint64_t bytes;
} counting_sink;

static opd_status count_write(opd_sink *sink, const void *bytes, size_t size)
{
    counting_sink *of = (counting_sink *)sink;

    (void)bytes;
    of->bytes += size;
    return OPD_OK;
}

static opd_status do_nothing(opd_sink *sink)
{
    (void)sink;
    return OPD_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    opd_bundle *bundle = NULL;
    uint8_t *bytes = NULL;

    if (size < 1 || size > INPUT_MAX || opd_alloc((void **)&bytes, size) != OPD_OK) {
        return 0;
    }
    fuzz_bundle_bytes(bytes, data, size);
    if (opd_bundle_open_memory(&bundle, bytes, size - 1) == OPD_OK) {
        for (int format = 0; format < OPD_VIEW_FORMATS; format++) {
            counting_sink sink = { .base = { .write = count_write, .flush = do_nothing, .close = do_nothing } };
            opd_view_report report;
            opd_error_clear();
            opd_status status = opd_view_export_sink(&report, bundle, &sink.base, (opd_view_format)format);
            if (status == OPD_OK ? report.bytes != sink.bytes : opd_error_text()[0] == '\0') {
                abort(); /* the report counts what was written; every failure has a text */
            }
        }
        opd_bundle_close(bundle);
    }
    opd_free(bytes);
    return 0;
}
