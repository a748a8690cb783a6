/* SPDX-License-Identifier: Apache-2.0 */
/* Random choices and texts of wishes. */
#include "wish_builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/random.h>

int64_t pick(wish_builder *at, int64_t low, int64_t high)
{
    return low + (int64_t)(opd_random_u64(at->seed, 77, at->drawn++) % (uint64_t)(high - low + 1));
}

void say(char text[256], const char *format, ...)
{
    va_list arguments;
    size_t used = strlen(text);
    va_start(arguments, format);
    (void)vsnprintf(text + used, 256 - used, format, arguments);
    va_end(arguments);
}

void say_list(char text[256], int count, const int64_t *values)
{
    say(text, "[");
    for (int i = 0; i < count; i++) {
        say(text, "%s%lld", i > 0 ? "," : "", (long long)values[i]);
    }
    say(text, "]");
}
