/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clang's analyzer cannot know, because it sees one file at a time: a failure comes back as the status it was
 * given. Without this it takes each failure for a possible success, and reports what is then not set. Put in front of
 * every file by check_tidy.py.
 */
#ifndef ANALYZER_H
#define ANALYZER_H

#include <opsdebug/status.h>

#define opd_fail(status, ...)    (opd_fail(status, __VA_ARGS__), (status))
#define opd_fail_in(status, ...) (opd_fail_in(status, __VA_ARGS__), (status))

#endif
