/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's instruction sets as the kernel names them. */
#ifndef OPD_REPLAYER_ISA_H
#define OPD_REPLAYER_ISA_H

#include <stdbool.h>
#include <stddef.h>

/* Space-separated flags that matter to numerical kernels; "" when they cannot be read. */
void opd_isa_read(char *text, size_t size);
/* Is flag a whole word of text? */
bool opd_isa_has(const char *text, const char *flag);

#endif
