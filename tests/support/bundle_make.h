/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random but reproducible content for bundles: calls, tensors, small records. The seed decides everything.
 */
#ifndef OPD_TESTS_BUNDLE_MAKE_H
#define OPD_TESTS_BUNDLE_MAKE_H

#include <opsdebug/bundle.h>

typedef struct make_random {
    uint64_t state;
} make_random;

uint64_t make_u64(make_random *random);
/* 0 .. bound - 1 */
uint64_t make_below(make_random *random, uint64_t bound);
/* Bytes of a text field: any but 0, length 0 .. size - 1. */
void make_text(make_random *random, char *text, size_t size);

/* A call of operators known and unknown, with every field set to something; views pass opd_tensor_check(). */
void make_call(make_random *random, opd_call *call);
void make_view(make_random *random, opd_tensor *view);
void make_health(make_random *random, opd_health *health);
void make_header(make_random *random, opd_header_info *header);
void make_environment(make_random *random, opd_environment_info *environment);
void make_module(make_random *random, opd_module *module);
void make_event(make_random *random, opd_event *event);
void make_failure(make_random *random, opd_failure *failure);
void make_frame(make_random *random, opd_frame *frame);
void make_lineage(make_random *random, opd_lineage *lineage);

/* What a reader must give back for what was written: no pointers, text ends zeroed. Compared field by field; fails the test with text. */
void check_same_call(const opd_call *got, const opd_call *want);

/* A sink that keeps what it is given. */
typedef struct memory_file {
    uint8_t *bytes;
    size_t size;
} memory_file;
opd_sink *make_sink(memory_file *file); /* file must outlive the sink; bytes by opd_free */

/* A whole small bundle: every kind of record, calls with data. */
void make_bundle(memory_file *file, uint64_t seed, int calls);

#endif
