/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jumps of the C library under all their names, passed on: who leaves a routine that way may be the handler of a crash. <setjmp.h> is not
 * included, as with _FORTIFY_SOURCE it gives the names another meaning.
 */
#include <dlfcn.h>

#include <opsdebug/memory.h>
#include <opsdebug/status.h>

#include "survived.h"

typedef void jump_function(void *environment, int value);

#define JUMP_LIST(X) X(longjmp) X(_longjmp) X(siglongjmp) X(__longjmp_chk)

enum {
#define OPD_X(name) JUMP_##name,
    JUMP_LIST(OPD_X)
#undef OPD_X
        JUMP_COUNT
};

static const char *const names[JUMP_COUNT] = {
#define OPD_X(name) [JUMP_##name] = #name,
    JUMP_LIST(OPD_X)
#undef OPD_X
};

static union {
    void *object;
    jump_function *function;
} true_jumps[JUMP_COUNT];

/* Before anything can be a handler's: dlsym is not for them. */
__attribute__((constructor)) static void find_true(void)
{
    for (unsigned i = 0; i < OPD_COUNT(names); i++) {
        if (true_jumps[i].object == NULL) {
            true_jumps[i].object = dlsym(RTLD_NEXT, names[i]);
        }
    }
}

static _Noreturn void jump(unsigned which, void *environment, int value)
{
    if (true_jumps[which].object == NULL) { /* by a constructor that ran before ours */
        find_true();
    }
    opd_survived_note();
    true_jumps[which].function(environment, value);
    __builtin_unreachable();
}

#define OPD_X(name)                                               \
    OPD_PUBLIC _Noreturn void name(void *environment, int value); \
    OPD_PUBLIC _Noreturn void name(void *environment, int value)  \
    {                                                             \
        jump(JUMP_##name, environment, value);                    \
    }
JUMP_LIST(OPD_X)
#undef OPD_X
