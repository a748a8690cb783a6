/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of other makers, opened when a variant of theirs is asked for. Private to kernels/. */
#ifndef OPD_KERNELS_ENGINE_H
#define OPD_KERNELS_ENGINE_H

/*
 * The library at opd_engine_use()'s file, else the first of names (NULL at the end) that loads; NULL: none does. Opened for good, with its symbols
 * kept to itself. Once in a process: the second of two names finds what the first has opened.
 */
void *opd_engine_open(const char *const *names);
/* A function of the library; out: a pointer to a function pointer, NULL where it has none. */
void opd_engine_symbol(void *out, void *library, const char *name);

#endif
