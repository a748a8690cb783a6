/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small records between their public structs and their messages. One list of fields per record serves both ways.
 */
#ifndef OPD_PROTO_INFO_H
#define OPD_PROTO_INFO_H

#include <opsdebug/bundle.h>

typedef struct opd_thread_info {
    uint32_t pid, tid;
    char name[64];
} opd_thread_info;

/* A backtrace being read; frames are owned. */
typedef struct opd_backtrace {
    opd_stack stack;
    opd_frame *frames;
} opd_backtrace;

/* Each appends the packed message to out; errors: the buffer's status. */
opd_status info_put_header(opd_buffer *out, const opd_header_info *from);
opd_status info_put_environment(opd_buffer *out, const opd_environment_info *from);
opd_status info_put_module(opd_buffer *out, const opd_module *from, uint32_t number);
opd_status info_put_thread(opd_buffer *out, const opd_thread_info *from);
opd_status info_put_event(opd_buffer *out, const opd_event *from);
opd_status info_put_failure(opd_buffer *out, const opd_failure *from);
opd_status info_put_count(opd_buffer *out, const opd_count *from);
opd_status info_put_lineage(opd_buffer *out, const opd_lineage *from);
opd_status info_put_backtrace(opd_buffer *out, const opd_stack *from);
opd_status info_put_crash(opd_buffer *out, const opd_crash_info *from);

/* Each unpacks a message; texts too long for their field are cut. errors: E_FORMAT, E_LIMIT, E_NOMEM. */
opd_status info_get_header(opd_header_info *to, const uint8_t *bytes, size_t size);
opd_status info_get_environment(opd_environment_info *to, const uint8_t *bytes, size_t size);
opd_status info_get_module(opd_module *to, uint32_t *number, const uint8_t *bytes, size_t size);
opd_status info_get_thread(opd_thread_info *to, const uint8_t *bytes, size_t size);
opd_status info_get_event(opd_event *to, const uint8_t *bytes, size_t size);
opd_status info_get_failure(opd_failure *to, const uint8_t *bytes, size_t size);
opd_status info_get_count(opd_count *to, const uint8_t *bytes, size_t size);
opd_status info_get_lineage(opd_lineage *to, const uint8_t *bytes, size_t size);
opd_status info_get_crash(opd_crash_info *to, const uint8_t *bytes, size_t size);
opd_status info_get_backtrace(opd_backtrace *backtrace, const uint8_t *bytes, size_t size);

#endif
