/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the assembly of a BLAS that counts: one entry for each name of each routine, from the contracts, which adds one and
 * goes on to the library behind it. Nothing of the recorder is in it.
 */
#include <stdio.h>

#include <opsdebug/op.h>

int main(int count, char **arguments)
{
    char symbol[64];
    int index = 0;
    FILE *out = count == 2 ? fopen(arguments[1], "w") : NULL;
    if (out == NULL) {
        return 1;
    }
    fputs(".section .data.entries, \"aw\"\n.globl counting_entries\n.hidden counting_entries\n.balign 8\n"
          "counting_entries:\n",
          out);
    for (int id = 0; id < opd_routine_count(); id++) {
        for (int pattern = 0; pattern < opd_name_pattern_count(); pattern++) {
            if (!opd_routine_symbol(symbol, sizeof(symbol), opd_routine_at(id), opd_name_pattern_at(pattern))) {
                continue;
            }
            fprintf(out,
                    ".text\n.globl %s\n.type %s, @function\n%s:\nlock incq counting_entries+%d(%%rip)\n"
                    "jmp *counting_entries+%d(%%rip)\n.section .rodata\n1: .asciz \"%s\"\n"
                    ".section .data.entries, \"aw\"\n.quad 0, 0, 1b\n",
                    symbol, symbol, symbol, 24 * index, 24 * index + 8, symbol);
            index++;
        }
    }
    fprintf(out, ".section .data.entries, \"aw\"\n.quad 0, 0, 0\n"
                 ".section .note.GNU-stack, \"\", @progbits\n");
    return fclose(out);
}
