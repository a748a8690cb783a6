/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program makes a userfaultfd of its own: memory that the recorder watches by one could not be registered with it. There is no wrapper in
 * the C library, so it goes through syscall(), which is passed on by a jump: without a frame of ours, clone and vfork return as they would.
 * Not seen: /dev/userfaultfd, and programs that make system calls by themselves.
 * source    System V ABI, AMD64 supplement, 3.2.3 (passing of arguments)
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "known.h"

#if defined(__x86_64__)

typedef long syscall_function(long number, ...);

/* The names are for the assembly below. */
extern union opd_syscall_pointer {
    void *object;
    syscall_function *function;
} opd_true_syscall;
union opd_syscall_pointer opd_true_syscall;
syscall_function *opd_syscall_begin(long number);

static long no_syscall(long number, ...)
{
    (void)number;
    errno = ENOSYS;
    return -1;
}

__attribute__((constructor)) static void find_true(void)
{
    if (opd_true_syscall.object == NULL) {
        opd_true_syscall.object = dlsym(RTLD_NEXT, "syscall");
    }
}

/* Where the call goes on. */
__attribute__((used)) syscall_function *opd_syscall_begin(long number)
{
    find_true(); /* by a constructor that ran before ours */
    if (number == SYS_userfaultfd) {
        opd_known_give_way("the program uses userfaultfd");
    }
    return opd_true_syscall.object != NULL ? opd_true_syscall.function : no_syscall;
}

/* clang-format off */
#define TEXT_OF(word) #word
#define TEXT(word)    TEXT_OF(word)
__asm__(".pushsection .text, \"ax\", @progbits\n"
        ".p2align 4\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "    endbr64\n"
        "    cmpq $" TEXT(SYS_userfaultfd) ", %rdi\n"
        "    je 1f\n"
        "    movq opd_true_syscall(%rip), %r11\n"
        "    testq %r11, %r11\n"
        "    je 1f\n"
        "    jmp *%r11\n"
        "1:  pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rdx\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rcx\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r8\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r9\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n" /* the stack is aligned now */
        "    .cfi_adjust_cfa_offset 8\n"
        "    call opd_syscall_begin\n"
        "    movq %rax, %r11\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %r9\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %r8\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rcx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    jmp *%r11\n"
        ".cfi_endproc\n"
        ".size syscall, .-syscall\n"
        ".popsection\n");
/* clang-format on */

#endif
