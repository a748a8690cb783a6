/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variants "onednn": the library is opened on first use, a primitive is made for the call, run once and dropped. A second opinion, so nothing is
 * cached and speed is of no account.
 */
#if defined(OPD_HAVE_DNNL)
#include "onednn.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/dnnl.h>
#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "engine.h"
#include "engine_variants.h"

static opd_dnnl functions;
static dnnl_engine_t engine;
static dnnl_stream_t stream;
static bool is_there;

static void open_library(void)
{
    static const char *const names[] = { OPD_DNNL_LIBRARY, NULL };
    void *library = opd_engine_open(names);
    is_there = library != NULL;
#define OPD_X(name)                                                 \
    if (is_there) {                                                 \
        opd_engine_symbol(&functions.name, library, "dnnl_" #name); \
        is_there = functions.name != NULL;                          \
    }
    OPD_DNNL_FUNCTIONS(OPD_X)
#undef OPD_X
    is_there = is_there && functions.engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
               functions.stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
}

static const opd_dnnl *find_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    return is_there ? &functions : NULL;
}

/* The recipe of a call, and the primitive's description; the caller destroys it. */
static const char *prepare(opd_recipe *recipe, dnnl_primitive_desc_t *description, const opd_call *call)
{
    opd_recipe_function *make = opd_recipe_find(call->name);
    *recipe = (opd_recipe){ .dnnl = find_library(), .call = call };
    if (recipe->dnnl == NULL) {
        static _Thread_local char text[600];
        snprintf(text, sizeof text, "%s exports not what oneDNN 2 does", opd_engine_file());
        return opd_engine_file()[0] != '\0' ? text
                                            : "oneDNN 2 cannot be loaded (" OPD_DNNL_LIBRARY
                                              "); apt-get install libdnnl2";
    }
    if (call->dtype != OPD_F32 || make == NULL) {
        return "oneDNN is asked about f32 only";
    }
    const char *reason = opd_call_strided(call);
    for (int i = 0; i < call->operand_count && reason == NULL; i++) {
        bool is_given = (call->operands[i].flags & OPD_OPERAND_ABSENT) == 0;
        reason = is_given && opd_tensor_count(&call->operands[i].view) == 0 ? "an operand is empty" : NULL;
    }
    reason = reason == NULL ? make(recipe) : reason;
    if (reason == NULL &&
        recipe->dnnl->primitive_desc_create(description, &recipe->of, NULL, engine, NULL) != dnnl_success) {
        reason = "oneDNN has no such primitive";
    }
    return reason;
}

const char *opd_onednn_declines(const opd_call *call)
{
    opd_recipe recipe;
    dnnl_primitive_desc_t description = NULL;
    if (call == NULL) {
        return NULL;
    }
    const char *reason = prepare(&recipe, &description, call);
    if (reason == NULL) {
        recipe.dnnl->primitive_desc_destroy(description);
    }
    return reason;
}

static dnnl_status_t execute(const opd_recipe *recipe, const_dnnl_primitive_t primitive)
{
    dnnl_exec_arg_t args[OPD_DNNL_ARGS];
    int made = 0;
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < recipe->count && status == dnnl_success; i++) {
        args[i].arg = recipe->args[i].arg;
        status = recipe->dnnl->memory_create(&args[i].memory, &recipe->args[i].form, engine, recipe->args[i].data);
        made += status == dnnl_success;
    }
    if (status == dnnl_success) {
        status = recipe->dnnl->primitive_execute(primitive, stream, made, args);
    }
    if (status == dnnl_success) {
        status = recipe->dnnl->stream_wait(stream);
    }
    for (int i = 0; i < made; i++) {
        recipe->dnnl->memory_destroy(args[i].memory);
    }
    return status;
}

opd_status opd_onednn_run(const opd_call *call, const opd_workspace *workspace)
{
    opd_recipe recipe;
    dnnl_primitive_desc_t description = NULL;
    dnnl_primitive_t primitive = NULL;
    (void)workspace;
    const char *reason = prepare(&recipe, &description, call);
    if (reason != NULL) {
        return opd_fail(OPD_E_DECLINED, "%s", reason);
    }
    dnnl_status_t status = recipe.dnnl->primitive_create(&primitive, description);
    if (status == dnnl_success) {
        status = execute(&recipe, primitive);
        recipe.dnnl->primitive_destroy(primitive);
    }
    recipe.dnnl->primitive_desc_destroy(description);
    return status == dnnl_success ? OPD_OK : opd_fail(OPD_E_CHILD, "oneDNN gave status %d", (int)status);
}
#else
typedef int opd_no_onednn;
#endif
