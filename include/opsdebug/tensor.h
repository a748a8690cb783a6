/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor views over any memory: dtype, shape, strides of any sign, a mask of the elements that exist,
 * and what can be done with a view without knowing an operator: walk it in storage order, pack it,
 * digest it, scan its health. A view is a plain value: copy it, compare it, throw it away.
 */
#ifndef OPSDEBUG_TENSOR_H
#define OPSDEBUG_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dlpack/dlpack.h>

#include <opsdebug/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPD_MAX_RANK 8

/* name, pinned number, bytes, bytes of one real component, text; numbers go into bundles and are never reused */
#define OPD_DTYPE_LIST(X)      \
    X(F16, 1, 2, 2, "f16")     \
    X(BF16, 2, 2, 2, "bf16")   \
    X(F32, 3, 4, 4, "f32")     \
    X(F64, 4, 8, 8, "f64")     \
    X(C64, 5, 8, 4, "c64")     \
    X(C128, 6, 16, 8, "c128")  \
    X(I8, 7, 1, 1, "i8")       \
    X(I16, 8, 2, 2, "i16")     \
    X(I32, 9, 4, 4, "i32")     \
    X(I64, 10, 8, 8, "i64")    \
    X(U8, 11, 1, 1, "u8")      \
    X(U16, 12, 2, 2, "u16")    \
    X(U32, 13, 4, 4, "u32")    \
    X(U64, 14, 8, 8, "u64")    \
    X(BOOL, 15, 1, 1, "bool")

typedef enum opd_dtype {
    OPD_DTYPE_NONE = 0,
#define OPD_X(name, number, size, part, text) OPD_##name = (number),
    OPD_DTYPE_LIST(OPD_X)
#undef OPD_X
} opd_dtype;

OPD_PUBLIC size_t opd_dtype_size(opd_dtype dtype);         /* bytes of an element; 0 for an unknown code */
OPD_PUBLIC const char *opd_dtype_name(opd_dtype dtype);    /* "f32"; "?" for an unknown code */
OPD_PUBLIC opd_dtype opd_dtype_parse(const char *text);    /* OPD_DTYPE_NONE when unknown */
opd_dtype opd_dtype_from_onnx(int64_t number);             /* TensorProto.DataType; OPD_DTYPE_NONE for those we have not */
OPD_PUBLIC bool opd_dtype_is_float(opd_dtype dtype);       /* f16 bf16 f32 f64 c64 c128 */
OPD_PUBLIC bool opd_dtype_is_complex(opd_dtype dtype);
OPD_PUBLIC opd_dtype opd_dtype_real(opd_dtype dtype);      /* c64 -> f32, c128 -> f64, else itself */
/* Distance of neighbouring numbers of a component at |value|, the smallest subnormal at least; 1 for integers. */
OPD_PUBLIC double opd_dtype_ulp(opd_dtype dtype, double value);
OPD_PUBLIC double opd_dtype_epsilon(opd_dtype dtype);      /* 2^(1-p) of one component: f32 2^-23, f64 2^-52, f16 2^-10, bf16 2^-7; 0 for integers */
double opd_dtype_largest(opd_dtype dtype);                 /* finite value of one component; 0 for integers */

/*
 * One element as a number, both ways; integers beyond 2^53 round. re/im: im is 0 for real types. Storing to a float rounds once, to
 * nearest even; to an integer goes towards zero and saturates, NaN gives 0; to bool: not zero is 1. Any alignment.
 */
OPD_PUBLIC void opd_element_load(opd_dtype dtype, const void *element, double *re, double *im);
OPD_PUBLIC void opd_element_store(opd_dtype dtype, void *element, double re, double im);
/* Likewise for real and integer dtypes, with every bit of a 64-bit integer. */
OPD_PUBLIC long double opd_element_load_wide(opd_dtype dtype, const void *element);
OPD_PUBLIC void opd_element_store_wide(opd_dtype dtype, void *element, long double value);

/*
 * Which elements of a view exist (may be read and written). Rank-2 kinds are over the logical indices (i, j).
 *   UPPER, LOWER   i <= j, i >= j; with unit: the diagonal does not exist either.
 *   BAND           the view is band *storage*: view index (s, j) holds matrix element i = j + s - ku, when
 *                  by_rows is 0; (i, s) holds j = i + s - kl when by_rows is 1. Exists when the element lies in
 *                  the rows x cols matrix; with unit: the diagonal does not exist.
 *   PACKED         rank 1, n*(n+1)/2 elements of a packed triangle stored by columns; upper or lower by `upper`;
 *                  with unit the n diagonal elements do not exist, else all exist.
 */
typedef enum opd_mask_kind {
    OPD_MASK_NONE = 0,
    OPD_MASK_UPPER = 1,
    OPD_MASK_LOWER = 2,
    OPD_MASK_BAND = 3,
    OPD_MASK_PACKED = 4,
} opd_mask_kind;

typedef struct opd_mask {
    uint8_t kind;    /* opd_mask_kind */
    uint8_t unit;    /* the diagonal is not referenced */
    uint8_t by_rows; /* BAND: rows of the storage are rows of the matrix (row-major BLAS) */
    uint8_t upper;   /* PACKED: upper triangle by columns (lower otherwise) */
    int64_t kl, ku;  /* BAND */
    int64_t rows, cols; /* BAND: of the matrix; PACKED: rows = n */
} opd_mask;

typedef struct opd_tensor {
    void *data;      /* address of element [0, ..., 0], which need not exist; NULL = not in memory */
    opd_dtype dtype;
    int32_t rank;    /* 0 .. OPD_MAX_RANK; rank 0 has one element */
    int64_t shape[OPD_MAX_RANK];
    int64_t stride[OPD_MAX_RANK]; /* in elements; any sign, 0 repeats */
    opd_mask mask;
    void *storage;          /* the allocation the view lies in; NULL = unknown */
    uint64_t storage_bytes;
} opd_tensor;

/* A view of contiguous row-major memory. errors: E_INVALID rank, negative or overflowing shape. */
OPD_PUBLIC opd_status opd_tensor_contiguous(opd_tensor *out, opd_dtype dtype, int32_t rank, const int64_t *shape,
                                            void *data);

/* Checks what may come from a file: dtype, rank, shape >= 0, mask against rank and shape, count and span within int64. */
opd_status opd_tensor_check(const opd_tensor *view);

/* Number of index tuples (masked ones counted), and of elements that exist. View must be checked. */
OPD_PUBLIC int64_t opd_tensor_count(const opd_tensor *view);
int64_t opd_tensor_existing(const opd_tensor *view);
/* Do they have the same shape, and strides where a dimension has more than one element? */
bool opd_tensor_same_places(const opd_tensor *a, const opd_tensor *b);
/* Bytes of the packed form: existing elements, stride-0 dims once, times the element size. */
uint64_t opd_tensor_packed_bytes(const opd_tensor *view);
/* Byte range [*low, *high) relative to data that holds every existing element; 0, 0 when there is none. */
void opd_tensor_span(const opd_tensor *view, int64_t *low, int64_t *high);
/* Does index exist under the mask? */
OPD_PUBLIC bool opd_tensor_exists(const opd_tensor *view, const int64_t *index);
/* Byte offset of index from data. */
OPD_PUBLIC int64_t opd_tensor_offset(const opd_tensor *view, const int64_t *index);
/* The index tuple of the n-th index in row-major order of the shape. */
OPD_PUBLIC void opd_tensor_unflatten(const opd_tensor *view, int64_t flat, int64_t *index);

/* DLPack 0.6 view of the same memory; shape and strides are borrowed from view. errors: E_UNSUPPORTED bool, masks. */
opd_status opd_tensor_to_dlpack(DLTensor *out, const opd_tensor *view);
opd_status opd_tensor_from_dlpack(opd_tensor *out, const DLTensor *tensor);

/*
 * Walk of existing elements in storage order: size-1 dims dropped, dims sorted by |stride| (largest outermost), stride-0
 * dims visited once, ascending address, dims merged where they continue each other (never under a mask). The same memory seen through a
 * transposed, flipped or reshaped view gives the same walk.
 */
typedef struct opd_run {
    int64_t offset; /* bytes from view->data to the first element of the run */
    int64_t count;  /* elements, >= 1 */
    int64_t step;   /* bytes from one to the next, >= 0 (= element size when dense) */
} opd_run;

typedef struct opd_runs {
    opd_tensor walk;    /* the normalised view: dims outermost first, strides positive; mask.kind says only which walk it is */
    int64_t base;       /* bytes from the original data to walk's element 0 */
    int64_t index[OPD_MAX_RANK];
    int64_t offset;     /* bytes from the original data to the current inner dimension */
    int64_t low, high;  /* unvisited part of the current inner range under a mask */
    /* Triangle or band, over walk's (outer o, inner x): exists when lower <= slope * o + x < upper, o and x not a hole. */
    int64_t slope, lower, upper;
    int64_t hole_outer, hole_inner; /* -1 = none */
    int64_t outer_end;  /* outer indices from here on hold nothing */
    bool is_done;
} opd_runs;

void opd_runs_begin(opd_runs *runs, const opd_tensor *view);
bool opd_runs_next(opd_runs *runs, opd_run *run);

/* Copies existing elements in walk order to dst (opd_tensor_packed_bytes long), and back. */
void opd_tensor_pack(void *dst, const opd_tensor *view);
void opd_tensor_unpack(const opd_tensor *view, const void *src);

/*
 * XXH3-128 over a little-endian header of the normalised walk, then the packed bytes. Header: u32 dtype, u32 rank + form << 16,
 * i64 dims outermost first, then by form: 0 all elements of the walk exist: nothing; 1 triangle or band: i64 slope, lower,
 * upper, hole_outer, hole_inner of opd_runs; 2 packed triangle without its diagonal: i64 upper. A mask that hides nothing is
 * form 0; a view without elements has rank 1 and dim 0. All zero means "not taken" and is never a digest.
 */
typedef struct opd_digest {
    uint8_t bytes[16]; /* canonical big-endian form of XXH128_hash_t */
} opd_digest;

#define OPD_DIGEST_TEXT 33
opd_digest opd_tensor_digest(const opd_tensor *view);
/* The digest of a view whose packed bytes are at packed (view->data is not read). */
opd_digest opd_packed_digest(const opd_tensor *view, const void *packed);
bool opd_digest_equal(const opd_digest *a, const opd_digest *b);
bool opd_digest_is_none(const opd_digest *digest);
void opd_digest_print(char text[OPD_DIGEST_TEXT], const opd_digest *digest);

/* Health of the existing elements; a complex element counts once per class over both its parts. */
typedef struct opd_health {
    uint64_t count;     /* elements seen */
    uint64_t nan;
    uint64_t pos_inf;
    uint64_t neg_inf;
    uint64_t subnormal;
    uint64_t zero;      /* elements equal to zero */
    double min, max;    /* over finite components; +Inf, -Inf when there is none */
    double mean;        /* of finite components, f64 sum */
    int64_t first_nan;  /* position in walk order; -1 = none */
    int64_t first_inf;
} opd_health;

void opd_tensor_health(opd_health *out, const opd_tensor *view);
#define OPD_SAMPLE_FIRST  1024
#define OPD_SAMPLE_RANDOM 1024
/*
 * Health of a sample: the first OPD_SAMPLE_FIRST existing elements in walk order and OPD_SAMPLE_RANDOM random ones, spread over all of it, by seed.
 * count is that of the sample; first_nan and first_inf are positions in walk order. false: there are no more elements than that, and all were seen.
 * threads   safe for distinct outputs; allocates nothing; async-signal-safe.
 */
bool opd_tensor_sample(opd_health *out, const opd_tensor *view, uint64_t seed);
/* Only counts NaN and Inf and their first positions (min, max, mean, zero, subnormal stay 0): memory speed. */
void opd_tensor_nonfinite(opd_health *out, const opd_tensor *view);

/*
 * One pass in cache-sized blocks: copy to packed (NULL = no copy), digest (NULL = none), health (NULL = none).
 * threads   safe for distinct outputs; allocates nothing; async-signal-safe.
 */
void opd_tensor_scan(const opd_tensor *view, void *packed, opd_digest *digest, opd_health *health);

/*
 * Test hook: the inner loops of digest and health for an instruction set ("base", "avx2"); NULL = the best. false, and no change, when this
 * CPU or build has none of that name. All give the same bits.
 */
bool opd_kernels_choose(const char *isa);

/* "f32[128, 64]" plus " strides (1, 128)" when not row-major contiguous, plus the mask; truncated to size. */
OPD_PUBLIC void opd_tensor_describe(char *text, size_t size, const opd_tensor *view);

#ifdef __cplusplus
}
#endif
#endif
