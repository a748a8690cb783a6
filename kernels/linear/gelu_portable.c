/* SPDX-License-Identifier: Apache-2.0 */
/* Gelu of a row: the loops of f32 become vectors. */
#define GELU_OF opd_gelu_of_portable
#include "gelu_body.h"
