/* SPDX-License-Identifier: Apache-2.0 */
/* Takes back the short names of tile_vectors.h and gemm_template.h, so that they can be included for another type. */
#undef real
#undef vec
#undef vec_at
#undef LANES
#undef PANEL
#undef COLUMNS
#undef DEPTH
#undef REAL_IS_DOUBLE
#undef NAME
