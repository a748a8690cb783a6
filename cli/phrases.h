/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts as short English: failures, places, sizes, times. One wording for every command.
 */
#ifndef OPD_CLI_PHRASES_H
#define OPD_CLI_PHRASES_H

#include <stddef.h>
#include <stdint.h>

#include <opsdebug/replay.h>

/* "NaN born in C[0, 1], 4 bad elements"; "nothing wrong" for OK. */
void opd_phrase_failure(char *text, size_t size, const opd_failure *failure);
/* "C[0, 1]", "C", or "" when no operand is known. */
void opd_phrase_place(char *text, size_t size, const char *operand, const int64_t *index, int rank);
/* The largest error in the unit of its bound: "0.98 of 16" (eps times gauge), "1.2 of 4 ULP". */
void opd_phrase_error(char *text, size_t size, const opd_numbers *numbers);
/* "1 NaN, 2 +Inf, 0.5 .. 7.25, mean 3" */
void opd_phrase_health(char *text, size_t size, const opd_health *health);
/* "1.5 ms" */
void opd_phrase_time(char *text, size_t size, uint64_t ns);
/* " (1.2 ms)"; "" of what did not end, which took no time that is known. */
void opd_phrase_aside_time(char *text, size_t size, uint64_t ns);
/* "12.5 MB" */
void opd_phrase_bytes(char *text, size_t size, uint64_t bytes);
/* The ending of a noun that takes an s: "" for one */
const char *opd_phrase_plural(uint64_t count);
/* "1 call", "2 calls": noun takes an s */
void opd_phrase_count(char *text, size_t size, uint64_t count, const char *noun);
/* "in flight, nested, bad argument 3"; "" = nothing to say */
void opd_phrase_flags(char *text, size_t size, const opd_call *call);
/* "must not be read, unreadable"; "" = nothing to say */
void opd_phrase_operand_flags(char *text, size_t size, const opd_operand *operand);
/* Is this a failure of the call, rather than a window that somebody asked for? */
bool opd_failure_is_real(const opd_failure *failure);
/* A text of a bundle for the terminal, which is to show it and not to obey it: control characters as spaces or '?'. Returns line. */
const char *opd_phrase_line(char *line, size_t size, const char *text);
/* argument as a POSIX shell word, quoted where it must be */
void opd_phrase_shell(char *text, size_t size, const char *argument);
/* "ops-debug run --op Softmax": a command's own line again, argv as its run() was given it */
void opd_phrase_command(char *text, size_t size, const char *command, int argc, char *const *argv);

#endif
