/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form of a oneDNN primitive: which arguments it has, what their logical dimensions are made of, and where in the operation descriptor
 * its numbers stand. Everything about a primitive is derived from one row. Private to kernels/.
 */
#ifndef OPD_KERNELS_DNNL_FORM_H
#define OPD_KERNELS_DNNL_FORM_H

#include <opsdebug/dnnl.h>
#include <opsdebug/kernel.h>

#define OPD_DNNL_ROWS    24
#define OPD_DNNL_FIELDS  9
#define OPD_DNNL_NOWHERE UINT16_MAX

typedef enum opd_dnnl_class {
    OPD_DNNL_ANY, /* the primitive has no direction */
    OPD_DNNL_FORWARD,
    OPD_DNNL_BACKWARD, /* of data and, where there are any, weights */
    OPD_DNNL_BACKWARD_DATA,
    OPD_DNNL_BACKWARD_WEIGHTS,
} opd_dnnl_class;

typedef enum opd_dnnl_field_kind {
    OPD_DNNL_PROP,    /* dnnl_prop_kind_t, a word */
    OPD_DNNL_ALG,     /* dnnl_alg_kind_t, a word */
    OPD_DNNL_SPATIAL, /* dnnl_dims_t, one for each spatial dimension */
    OPD_DNNL_KERNEL,  /* the same; symbols kd, kh, kw */
    OPD_DNNL_REAL,    /* float */
    OPD_DNNL_INT,     /* int or unsigned */
    OPD_DNNL_DIM,     /* dnnl_dim_t */
    OPD_DNNL_DTYPE,   /* dnnl_data_type_t */
    OPD_DNNL_LETTER,  /* a character in an int, a word */
    OPD_DNNL_WAY,     /* dnnl_rnn_direction_t, a word */
} opd_dnnl_field_kind;

/* A number of the descriptor. */
typedef struct opd_dnnl_field {
    const char *name;
    uint8_t kind; /* opd_dnnl_field_kind */
    uint16_t offset;
} opd_dnnl_field;

/*
 * An operand. dims: symbols by spaces, "g*ic" a product, "[g]" one that may be missing; families: I (id ih iw) spatial sizes of the input, K (kd kh kw) of
 * the kernel, D (d0 d1 ...) all dimensions, B (b0 ...) leading ones, L those of D but the last; O: sizes of the output of a window over I, U: of its
 * transposed; P (od oh ow) sizes of an output that are its own; of recurrent cells H: the hidden state (dic with a projection, else dhc), R: the same for
 * all directions that are put side by side, E: offsets of a product's result, G: gates, Q: gates of the bias; C: D with the size c<n> of this source along the axis of concat, S: with their sum; "=": no symbol stands for them.
 */
typedef struct opd_dnnl_row {
    const char *name;
    uint8_t role;
    int arg;
    uint16_t offset; /* of its memory descriptor in the operation descriptor, OPD_DNNL_NOWHERE = none */
    const char *dims;
    bool is_broadcast;
} opd_dnnl_row;

typedef struct opd_dnnl_form {
    opd_op op;
    dnnl_primitive_kind_t kind;
    opd_dnnl_class direction;
    uint16_t size; /* of the operation descriptor; 0 = there is none */
    opd_dnnl_field fields[OPD_DNNL_FIELDS];
    opd_dnnl_row rows[OPD_DNNL_ROWS];
} opd_dnnl_form;

/* The tables. */
extern const opd_dnnl_form opd_dnnl_dense_forms[], opd_dnnl_other_forms[];
extern const int opd_dnnl_dense_form_count, opd_dnnl_other_form_count;

/* NULL when there is none. */
const opd_dnnl_form *opd_dnnl_form_find(dnnl_primitive_kind_t kind, opd_dnnl_class direction);
const opd_dnnl_form *opd_dnnl_form_named(const char *name);
const opd_dnnl_form *opd_dnnl_form_of(const opd_call *call);
/* The form of the forward primitive that a backward one wants as a hint; NULL when it wants none. */
const opd_dnnl_form *opd_dnnl_form_hint(const opd_dnnl_form *form);
opd_dnnl_class opd_dnnl_class_of(dnnl_prop_kind_t prop);
/* The row of an operand, and which of several sources it is; NULL when the form has none. */
const opd_dnnl_row *opd_dnnl_row_of(const opd_dnnl_form *form, const char *operand, int *number);
/* Any primitive kind's name: "convolution". */
const char *opd_dnnl_kind_name(dnnl_primitive_kind_t kind);

/* Words of enumerations; "" and -1 when unknown. */
const char *opd_dnnl_prop_word(int value);
const char *opd_dnnl_alg_word(int value);
const char *opd_dnnl_way_word(int value);
int opd_dnnl_prop_value(const char *word);
int opd_dnnl_alg_value(const char *word);
int opd_dnnl_way_value(const char *word);

/* a and b one after the other, as far as there is room; a printf for each name shows when primitives are made. */
void opd_dnnl_join(char *to, size_t size, const char *a, const char *b);

/* ------------------------------------------------------------------------------------------------------ layouts */

typedef struct opd_dnnl_layout {
    int rank;
    int order[DNNL_MAX_NDIMS]; /* from the largest stride to the smallest */
    int block_count;
    int64_t blocks[DNNL_MAX_NDIMS];
    int block_dims[DNNL_MAX_NDIMS];
    bool has_strides;
    int64_t strides[DNNL_MAX_NDIMS];
    uint32_t broadcast;
    dnnl_memory_extra_desc_t
        extra; /* flags 0 = none: sums for the compensation of signed or shifted sources, behind the elements */
} opd_dnnl_layout;

#define OPD_DNNL_LAYOUT_TEXT 64
opd_dtype opd_dnnl_dtype_from(dnnl_data_type_t dtype); /* OPD_DTYPE_NONE when unknown */
dnnl_data_type_t opd_dnnl_dtype_to(opd_dtype dtype);

/* The layout of a descriptor. False: one that only the library knows. */
bool opd_dnnl_layout_of(opd_dnnl_layout *out, const dnnl_memory_desc_t *desc);
bool opd_dnnl_layout_print(char text[OPD_DNNL_LAYOUT_TEXT], const opd_dnnl_layout *layout);
bool opd_dnnl_layout_parse(opd_dnnl_layout *out, const char *text);
/* Dimensions with blocks whole, and strides in elements. False: overflow. */
bool opd_dnnl_layout_sizes(int64_t *padded, int64_t *strides, const opd_dnnl_layout *layout, const int64_t *dims);
/* Shape and strides of the view of dims in this layout; false when it has more dimensions than a view, or too large ones. */
bool opd_dnnl_layout_view(opd_tensor *view, const opd_dnnl_layout *layout, const int64_t *dims);
/* The least dimensions, blocks whole, whose view it is; false where it does not show them. */
bool opd_dnnl_layout_dims(int64_t *dims, const opd_dnnl_layout *layout, const opd_tensor *view);
/* Does the view hold all of dims in this layout? A layout of a file may say more than was stored. */
bool opd_dnnl_layout_covers(const opd_tensor *view, const opd_dnnl_layout *layout, const int64_t *dims);
/* Element of the view's storage that holds a logical index. */
int64_t opd_dnnl_layout_offset(const opd_dnnl_layout *layout, const int64_t *strides, const int64_t *index);

/* ------------------------------------------------------------------------------------------------------- binding */

/* Size of a dimension symbol. */
int64_t opd_dnnl_symbol(const opd_call *call, const char *name, int64_t otherwise);
/* Spatial dimensions of a call: those of its input, by their symbols. */
int opd_dnnl_spatial_count(const opd_call *call);
/* A list attribute's number for a spatial dimension. */
int64_t opd_dnnl_spatial(const opd_call *call, const char *name, int axis, int64_t otherwise);
/* Logical dimensions of an operand by the call's symbols and attributes. errors: E_INVALID names what does not fit. */
opd_status opd_dnnl_dims(int64_t dims[DNNL_MAX_NDIMS], int *rank, const opd_call *call, int operand);
/* Symbols from the logical dimensions of all operands: dims[i] of operand i. False: they contradict each other. */
bool opd_dnnl_solve(opd_call *call, const opd_dnnl_form *form, int64_t (*dims)[DNNL_MAX_NDIMS], const int *ranks);
/* Name of an argument's scale or zero point as an attribute; an operand of several has an s more. NULL: there is none. */
const char *opd_dnnl_quant_name(int arg);
/* The operand whose dimensions its mask is about. */
const char *opd_dnnl_quant_target(int arg);
/* Numbers that a mask asks for; -1: it is about dimensions that there are not. */
int64_t opd_dnnl_quant_count(int mask, const int64_t *dims, int rank);
/* How many an operand of scales or zero points must hold; -1: its mask is about dimensions that there are not. */
int64_t opd_dnnl_quant_wanted(const opd_call *call, int operand);
/* The view of such an operand. errors: E_INVALID. */
opd_status opd_dnnl_quant_bind(opd_call *call, int operand);
/* What a call has of an argument's scales or zero points; one that changes nothing where it has none. */
opd_dnnl_quant opd_dnnl_quant_of(const opd_call *call, int arg);
/* The scale or zero point of an element of its target, which has dims. */
long double opd_dnnl_quant_at(const opd_call *call, const opd_dnnl_quant *quant, const int64_t *dims,
                              const int64_t *at);
/* The layout attribute of an operand, parsed. */
bool opd_dnnl_layout_get(opd_dnnl_layout *out, const opd_call *call, int operand);

#endif
