/* SPDX-License-Identifier: Apache-2.0 */
/* Calls made rather than recorded: the options and steps that commands which take --op share. */
#ifndef OPD_CLI_MAKING_H
#define OPD_CLI_MAKING_H

#include <argp.h>

#include <opsdebug/replay.h>

#include "command.h"
#include "ruling.h"

enum {
    OPD_KEY_OP = 0x3000,
    OPD_KEY_SHAPES,
    OPD_KEY_DTYPE,
    OPD_KEY_ATTRS,
    OPD_KEY_OUTPUTS,
    OPD_KEY_VARIANT,
    OPD_KEY_OP_LIBRARY,
    OPD_KEY_SEED,
    OPD_KEY_FILL,
};

/* Rows of a command's option table: the operator and what runs it. */
#define OPD_MAKING_SUBJECT_OPTIONS                                                                          \
    { "op", OPD_KEY_OP, "NAME", 0, "The operator: NAME or DOMAIN.NAME of ops (required)", 0 },              \
        { "variant", OPD_KEY_VARIANT, "NAME", 0, "A variant of ops NAME; default: the first that can", 0 }, \
        { "library", OPD_KEY_OP_LIBRARY, "FILE", 0, "A shared object with operators of your own", 0 },      \
    {                                                                                                       \
        "seed", OPD_KEY_SEED, "N", 0, "Of the inputs, default 0", 0                                         \
    }

/* Those, and the call. */
#define OPD_MAKING_OPTIONS                                                                                           \
    OPD_MAKING_SUBJECT_OPTIONS,                                                                                      \
        { "input-shapes",                                                                                            \
          OPD_KEY_SHAPES,                                                                                            \
          "LIST",                                                                                                    \
          0,                                                                                                         \
          "Inputs in order: '[4,256,64];[64];-', '-' is absent, 'f16[2,3]' names a dtype; default: of the contract", \
          0 },                                                                                                       \
        { "dtype", OPD_KEY_DTYPE, "TYPE", 0, "f32, f64, f16, bf16, i32, ...; default: the contract's first", 0 },    \
        { "attrs", OPD_KEY_ATTRS, "LIST", 0, "NAME=VALUE,...; a list is [1,2]", 0 },                                 \
        { "outputs", OPD_KEY_OUTPUTS, "LIST", 0, "Optional outputs that are wanted: NAME,... or '*'", 0 },           \
    {                                                                                                                \
        "fill", OPD_KEY_FILL, "KIND[:A[:B]]", 0,                                                                     \
            "Inputs: uniform, normal, constant, integers, ramp, longtail, special; default: of the contract", 0      \
    }

typedef struct opd_making {
    const char *op;
    opd_call_wish wish;
    const char *variant;
    const char *library;
    uint32_t timeout_ms; /* of its entry point; 0 = the usual limit */
    uint64_t seed;
    opd_fill fill;
    bool has_fill;
} opd_making;
#define OPD_MAKING_INIT \
    {                   \
        .op = NULL      \
    }

/* ARGP_ERR_UNKNOWN when the key is none of ours; a usage error when no operator is named. */
error_t opd_making_parse(int key, char *arg, const struct argp_state *state, opd_making *making);

/*
 * The operator of that name: "LayerNormalization", "ai.onnx.LayerNormalization"; without a domain ai.onnx comes before opsdebug before others.
 * errors    E_NAME names the most similar; E_UNSUPPORTED it is the contract of BLAS routines.
 */
opd_status opd_making_find(const opd_op **out, const char *name);
/* E_NAME of a name that no operator has, with the most similar one. */
opd_status opd_making_unknown(const char *name);

/* The call, its inputs made; outputs have no memory. Loads the library. */
opd_status opd_making_case(opd_case *out, const opd_making *making);

/* That, or the failing (or only) call of the bundle at path when there is one, with the rule that it was judged by. */
opd_status opd_making_or_bundle(opd_case *out, opd_ruling *ruling, const opd_making *making, const char *path,
                                const opd_shared *shared);

/* The same for an operator at hand; making->op and library are not looked at. */
opd_status opd_making_fill(opd_case *out, const opd_op *op, const opd_making *making);

/*
 * The call with its inputs, the outputs that result has kept, and its failure, as a bundle.
 * expected  NULL, or a run of the definition, whose outputs are kept instead and marked as expected values.
 * way       how it was run: the rule that it was judged by is kept with it.
 */
opd_status opd_making_save(const char *path, const opd_case *item, const opd_replay_result *result,
                           const opd_replay_result *expected, const opd_replay_options *way);

#endif
