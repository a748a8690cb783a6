/* SPDX-License-Identifier: Apache-2.0 */
/* What marks the preloaded object: its C API, for an object beside it. The functions are this object's own (-Bsymbolic). */
#include "api.h"

const opd_record_api opd_preload_api = {
    .bytes = sizeof(opd_record_api),
    .start = opd_record_start,
    .stop = opd_record_stop,
    .begin = opd_record_begin,
    .end = opd_record_end,
    .range_push = opd_record_range_push,
    .range_pop = opd_record_range_pop,
    .mark = opd_record_mark,
    .seed = opd_record_seed,
    .trigger = opd_record_trigger,
    .form = opd_record_form,
    .begin_as = opd_record_begin_as,
    .end_as = opd_record_end_as,
    .note_as = opd_record_note_as,
    .provider = opd_record_provider,
    .recipe = opd_record_recipe,
    .generator = opd_record_generator,
    .watch = opd_record_watch,
    .point = opd_record_point,
};
