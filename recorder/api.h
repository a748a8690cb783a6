/* SPDX-License-Identifier: Apache-2.0 */
/* The C API as a table, by which an object that does not record itself passes its calls on to the preloaded one. */
#ifndef OPD_API_H
#define OPD_API_H

#include <opsdebug/record.h>

typedef struct opd_record_api {
    opd_status (*start)(const char *out);
    void (*stop)(void);
    uint64_t (*begin)(const opd_call *call);
    void (*end)(uint64_t token, const opd_call *call, int status);
    void (*range_push)(const char *name);
    void (*range_pop)(void);
    void (*mark)(const char *name, int64_t value);
    void (*seed)(uint64_t seed);
    void (*trigger)(const char *reason);
} opd_record_api;

/* NULL: this object records. Set at load. */
extern const opd_record_api *opd_api_other;

/* Of the preloaded object only. */
OPD_PUBLIC extern const opd_record_api opd_preload_api;

#endif
