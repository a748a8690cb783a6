/* SPDX-License-Identifier: Apache-2.0 */
/* Names of what a crash record holds, as commands print them. */
#include <opsdebug/bundle.h>

const char *opd_register_name(int index)
{
    static const char *const names[OPD_REGISTERS] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                                      "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip", "flags" };
    return index >= 0 && index < OPD_REGISTERS ? names[index] : NULL;
}

const char *opd_stack_state_name(opd_stack_state state)
{
    static const char *const names[] = { "", "crashed", "answered", "waiting", "silent" };
    return (unsigned)state < OPD_COUNT(names) ? names[state] : "";
}

const char *opd_access_name(opd_access access)
{
    static const char *const names[] = { "", "read", "write", "execute" };
    return (unsigned)access < OPD_COUNT(names) ? names[access] : "";
}

const char *opd_limit_name(int index)
{
#define OPD_X(suffix, name) name,
    static const char *const names[OPD_LIMITS] = { OPD_LIMIT_LIST(OPD_X) };
#undef OPD_X
    return index >= 0 && index < OPD_LIMITS ? names[index] : NULL;
}
