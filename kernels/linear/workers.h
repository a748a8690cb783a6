/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of work over threads that each have their own piece of the workspace. Private to kernels/linear. */
#ifndef OPD_KERNELS_WORKERS_H
#define OPD_KERNELS_WORKERS_H

#include <opsdebug/kernel.h>

/*
 * do_part(context, scratch, i) for i = 0 .. parts-1, scratch being `bytes` of the workspace that no other thread uses meanwhile.
 * workspace->size is at least workspace->threads * bytes, a multiple of 64.
 */
void opd_run_parts(const opd_workspace *workspace, size_t bytes, int64_t parts,
                   void (*do_part)(const void *context, void *scratch, int64_t part), const void *context);

#endif
