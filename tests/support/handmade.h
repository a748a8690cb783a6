/* SPDX-License-Identifier: Apache-2.0 */
/* Cases made by hand for tests: a routine, its values as text, its operands filled from a seed. */
#ifndef OPD_TESTS_HANDMADE_H
#define OPD_TESTS_HANDMADE_H

#include <opsdebug/replay.h>

/*
 * A call of routine under its CBLAS form: settings like "m=6 n=1 trans=N incx=-2 alpha=0 alpha=1,0.5 row" ("fortran", "row" are flags).
 * Values are taken as they are: illegal ones stay. Fails the test when a name is unknown.
 */
opd_call handmade_call(const char *routine, const char *settings);
/* Its operands allocated and filled with uniform numbers in [-1, 1) of the seed. */
opd_case handmade_case(const opd_call *call, uint64_t seed);
/* Sets one element of an operand. */
void handmade_set(opd_case *item, const char *operand, int64_t flat, double re, double im);
/* The worker beside the test program's build, or $OPD_TEST_WORKER. */
opd_replay_options handmade_options(const char *library, const char *core, opd_guard guard);
/* opd_replay that must succeed; prints the reason when it does not. */
opd_replay_result handmade_replay(const opd_case *item, const opd_failure *expected, const opd_replay_options *options);

#endif
