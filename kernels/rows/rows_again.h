/* SPDX-License-Identifier: Apache-2.0 */
/* Clears what rows_build.h defines for one dtype. No include guard: included once for each. */
#undef ROW
#undef DTYPE
#undef E
#undef LOAD_1
#undef LOAD_D
#undef LOAD_V
#undef STORE_V
#undef STREAM_V
