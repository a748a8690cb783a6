/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of bundles and results, with jansson.
 */
#include "document.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/record.h>

#include "phrases.h"

json_t *opd_document_text(const char *text)
{
    json_t *value = json_string(text);
    if (value != NULL) {
        return value;
    }
    char plain[4096];
    size_t i = 0;
    for (; text[i] != '\0' && i + 1 < sizeof plain; i++) {
        plain[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    }
    plain[i] = '\0';
    return json_string(plain);
}

json_t *opd_document_real(double value)
{
    if (isnan(value)) {
        return json_string("NaN");
    }
    if (isinf(value)) {
        return json_string(value > 0 ? "Infinity" : "-Infinity");
    }
    return json_real(value);
}

json_t *opd_document_count(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

void opd_document_put(json_t *object, const char *key, json_t *take_value)
{
    if (take_value == NULL || json_object_set_new(object, key, take_value) != 0) {
        fprintf(stderr, "ops-debug: out of memory for the JSON document\n");
    }
}

static json_t *text_of_hex(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return json_string(text);
}

static json_t *text_of_ns(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return json_string(text);
}

static json_t *index_array(const int64_t *index, int rank)
{
    json_t *array = json_array();
    for (int i = 0; i < rank && i < OPD_MAX_RANK; i++) {
        json_array_append_new(array, json_integer(index[i]));
    }
    return array;
}

static void put_digest(json_t *object, const char *key, const opd_digest *digest)
{
    char text[OPD_DIGEST_TEXT];
    if (!opd_digest_is_none(digest)) {
        opd_digest_print(text, digest);
        opd_document_put(object, key, json_string(text));
    }
}

json_t *opd_document_failure(const opd_failure *failure)
{
    char words[512];
    json_t *object = json_object();
    opd_document_put(object, "outcome", json_string(opd_outcome_name(failure->outcome)));
    opd_phrase_failure(words, sizeof words, failure);
    opd_document_put(object, "text", opd_document_text(words));
    if (failure->call_number != 0) {
        opd_document_put(object, "thread", json_integer(failure->thread));
        opd_document_put(object, "call", opd_document_count(failure->call_number));
    }
    if (failure->operand[0] != '\0') {
        opd_document_put(object, "operand", opd_document_text(failure->operand));
    }
    if (failure->index_rank >= 0 && failure->operand[0] != '\0') {
        opd_document_put(object, "index", index_array(failure->index, failure->index_rank));
    }
    opd_document_put(object, "bad_count", opd_document_count(failure->bad_count));
    if (failure->signal != 0) {
        opd_document_put(object, "signal", json_integer(failure->signal));
        opd_document_put(object, "fault_address", text_of_hex(failure->fault_address));
        opd_document_put(object, "pc_symbol", opd_document_text(failure->pc_symbol));
    }
    if (failure->outcome == OPD_OUTCOME_OOB_READ || failure->outcome == OPD_OUTCOME_OOB_WRITE) {
        opd_document_put(object, "distance", json_integer(failure->distance));
    }
    opd_document_put(object, "label", opd_document_text(failure->label));
    opd_document_put(object, "confidence", opd_document_real((double)failure->confidence));
    opd_document_put(object, "reason", opd_document_text(failure->reason));
    return object;
}

static json_t *health_object(const opd_health *health, bool is_sampled)
{
    json_t *object = json_object();
    opd_document_put(object, "count", opd_document_count(health->count));
    opd_document_put(object, "sampled", json_boolean(is_sampled));
    opd_document_put(object, "nan", opd_document_count(health->nan));
    opd_document_put(object, "pos_inf", opd_document_count(health->pos_inf));
    opd_document_put(object, "neg_inf", opd_document_count(health->neg_inf));
    opd_document_put(object, "subnormal", opd_document_count(health->subnormal));
    opd_document_put(object, "min", opd_document_real(health->min));
    opd_document_put(object, "max", opd_document_real(health->max));
    opd_document_put(object, "mean", opd_document_real(health->mean));
    return object;
}

json_t *opd_document_operand(const opd_operand *operand)
{
    char words[256];
    json_t *object = json_object();
    opd_document_put(object, "name", opd_document_text(operand->name));
    opd_document_put(object, "role",
                     json_string(operand->role == OPD_ROLE_IN    ? "in"
                                 : operand->role == OPD_ROLE_OUT ? "out"
                                                                 : "inout"));
    opd_document_put(object, "dtype", json_string(opd_dtype_name(operand->view.dtype)));
    opd_document_put(object, "shape", index_array(operand->view.shape, operand->view.rank));
    opd_document_put(object, "strides", index_array(operand->view.stride, operand->view.rank));
    opd_document_put(object, "address", text_of_hex(operand->address));
    opd_phrase_operand_flags(words, sizeof words, operand);
    opd_document_put(object, "flags", json_string(words));
    put_digest(object, "before", &operand->before);
    put_digest(object, "after", &operand->after);
    bool is_sampled = (operand->flags & OPD_OPERAND_SAMPLED) != 0;
    if ((operand->flags & OPD_OPERAND_HAS_HEALTH) != 0) {
        if ((operand->role & OPD_ROLE_IN) != 0) {
            opd_document_put(object, "health_before", health_object(&operand->health_before, is_sampled));
        }
        if ((operand->role & OPD_ROLE_OUT) != 0) {
            opd_document_put(object, "health_after", health_object(&operand->health_after, is_sampled));
        }
    }
    return object;
}

/* A letter as text; a number that is no legal value as such. */
static json_t *choice_of(int64_t choice)
{
    char text[OPD_CHOICE_TEXT];
    opd_choice_print(text, choice);
    return opd_choice_is_letter(choice) ? opd_document_text(text) : json_integer(strtoll(text, NULL, 10));
}

static json_t *value_of(const opd_value *value)
{
    json_t *list = NULL;
    switch (value->kind) {
    case OPD_VALUE_INT:
        return json_integer(value->i);
    case OPD_VALUE_REAL:
        return opd_document_real(value->re);
    case OPD_VALUE_COMPLEX:
        list = json_array();
        json_array_append_new(list, opd_document_real(value->re));
        json_array_append_new(list, opd_document_real(value->im));
        return list;
    case OPD_VALUE_CHOICE:
        return choice_of(value->i);
    case OPD_VALUE_TEXT:
        return opd_document_text(value->text);
    case OPD_VALUE_INTS:
        list = json_array();
        for (int i = 0; i < value->i && i < OPD_MAX_INTS; i++) {
            json_array_append_new(list, json_integer(value->ints[i]));
        }
        return list;
    case OPD_VALUE_NONE:
        break;
    }
    return json_null();
}

static json_t *values_object(const opd_value *values, int count)
{
    json_t *object = json_object();
    for (int i = 0; i < count; i++) {
        opd_document_put(object, values[i].name, value_of(&values[i]));
    }
    return object;
}

json_t *opd_document_call(const opd_call *call, bool with_operands)
{
    char words[512];
    json_t *object = json_object();
    opd_document_put(object, "thread", json_integer(call->thread));
    opd_document_put(object, "number", opd_document_count(call->number));
    opd_document_put(object, "domain", opd_document_text(call->domain));
    opd_document_put(object, "name", opd_document_text(call->name));
    opd_document_put(object, "symbol", opd_document_text(call->symbol));
    opd_document_put(object, "dtype", json_string(opd_dtype_name(call->dtype)));
    opd_document_put(object, "dims", values_object(call->symbols, call->symbol_count));
    int64_t order = 0;
    if (opd_call_order(&order, call)) {
        opd_document_put(object, "order", choice_of(order));
    }
    opd_document_put(object, "attributes", values_object(call->attrs, call->attr_count));
    opd_phrase_flags(words, sizeof words, call);
    opd_document_put(object, "flags", json_string(words));
    opd_document_put(object, "mxcsr", text_of_hex(call->mxcsr));
    opd_document_put(object, "provider", json_integer(call->provider));
    opd_document_put(object, "begin_ns", text_of_ns(call->begin_ns));
    opd_document_put(object, "end_ns", text_of_ns(call->end_ns));
    if (with_operands) {
        json_t *operands = json_array();
        for (int i = 0; i < call->operand_count; i++) {
            json_array_append_new(operands, opd_document_operand(&call->operands[i]));
        }
        opd_document_put(object, "operands", operands);
    }
    return object;
}

json_t *opd_document_header(const opd_bundle *bundle)
{
    const opd_header_info *header = opd_bundle_header(bundle);
    const opd_bundle_state *state = opd_bundle_state_of(bundle);
    json_t *object = json_object();
    opd_document_put(object, "path", opd_document_text(opd_bundle_path(bundle)));
    opd_document_put(object, "version", json_integer(header->version));
    opd_document_put(object, "kind", opd_document_text(header->kind));
    opd_document_put(object, "producer", opd_document_text(header->producer));
    opd_document_put(object, "program", opd_document_text(header->program));
    opd_document_put(object, "command", opd_document_text(header->command));
    opd_document_put(object, "pid", json_integer(header->pid));
    opd_document_put(object, "capture", opd_document_text(header->capture));
    opd_document_put(object, "created_realtime_ns", text_of_ns(header->created_realtime_ns));
    opd_document_put(object, "is_complete", json_boolean(!state->is_partial));
    opd_document_put(object, "damaged", opd_document_count(state->damaged));
    opd_document_put(object, "bytes", opd_document_count(state->bytes));
    opd_document_put(object, "call_count", opd_document_count(opd_bundle_call_count(bundle)));
    return object;
}

static json_t *module_object(const opd_module *module)
{
    json_t *object = json_object();
    opd_document_put(object, "path", opd_document_text(module->path));
    opd_document_put(object, "build_id", opd_document_text(module->build_id));
    opd_document_put(object, "core", opd_document_text(module->core));
    opd_document_put(object, "config", opd_document_text(module->config));
    opd_document_put(object, "threads", json_integer(module->threads));
    return object;
}

json_t *opd_document_environment(const opd_bundle *bundle)
{
    const opd_environment_info *environment = opd_bundle_environment(bundle);
    json_t *object = json_object();
    if (environment != NULL) {
        opd_document_put(object, "cpu_model", opd_document_text(environment->cpu_model));
        opd_document_put(object, "isa", opd_document_text(environment->isa));
        opd_document_put(object, "kernel", opd_document_text(environment->kernel));
        opd_document_put(object, "libc", opd_document_text(environment->libc));
        opd_document_put(object, "cpu_count", json_integer(environment->cpu_count));
        opd_document_put(object, "l1d_bytes", json_integer(environment->l1d_bytes));
        opd_document_put(object, "l2_bytes", json_integer(environment->l2_bytes));
        opd_document_put(object, "l3_bytes", json_integer(environment->l3_bytes));
        opd_document_put(object, "mxcsr", text_of_hex(environment->mxcsr));
        opd_document_put(object, "variables", opd_document_text(environment->variables));
    }
    json_t *modules = json_array();
    for (uint32_t i = 1; i <= opd_bundle_module_count(bundle); i++) {
        json_array_append_new(modules, module_object(opd_bundle_module(bundle, i)));
    }
    opd_document_put(object, "modules", modules);
    return object;
}

static json_t *numbers_object(const opd_numbers *numbers)
{
    json_t *object = json_object();
    opd_document_put(object, "ratio", opd_document_real(numbers->ratio));
    opd_document_put(object, "naive_ratio", opd_document_real(numbers->naive_ratio));
    opd_document_put(object, "cap", opd_document_real(numbers->cap));
    opd_document_put(object, "epsilon", opd_document_real(numbers->epsilon));
    opd_document_put(object, "gauge", opd_document_real(numbers->gauge));
    opd_document_put(object, "allowed", opd_document_real(numbers->allowed));
    opd_document_put(object, "other_class", opd_document_count(numbers->other_class));
    opd_document_put(object, "max_abs", opd_document_real(numbers->max_abs));
    opd_document_put(object, "max_rel", opd_document_real(numbers->max_rel));
    opd_document_put(object, "max_ulp", opd_document_real(numbers->max_ulp));
    opd_document_put(object, "worst_operand", opd_document_text(numbers->worst_operand));
    opd_document_put(object, "worst", index_array(numbers->worst, numbers->worst_rank));
    opd_document_put(object, "got", opd_document_real(numbers->got_re));
    opd_document_put(object, "want", opd_document_real(numbers->want_re));
    return object;
}

json_t *opd_document_result(const opd_replay_result *result)
{
    static const char *const same[] = {
        [OPD_SAME_UNKNOWN] = "unknown",
        [OPD_SAME_BITWISE] = "bitwise",
        [OPD_SAME_BOUND] = "bound",
        [OPD_SAME_DIFFERENT] = "different",
    };
    json_t *object = json_object();
    opd_document_put(object, "came_back", json_boolean(result->came_back));
    opd_document_put(object, "same", json_string(same[result->same]));
    opd_document_put(object, "recorded_ratio", opd_document_real(result->recorded_ratio));
    opd_document_put(object, "recorded_ulp", opd_document_real(result->recorded_ulp));
    opd_document_put(object, "observed", opd_document_failure(&result->observed));
    opd_document_put(object, "expected", opd_document_failure(&result->expected));
    opd_document_put(object, "verdict", json_string(opd_replay_word(result)));
    opd_document_put(object, "environment", opd_document_text(result->environment));
    opd_document_put(object, "library", opd_document_text(result->library));
    opd_document_put(object, "maker", opd_document_text(result->maker));
    opd_document_put(object, "build_id", opd_document_text(result->build_id));
    opd_document_put(object, "core", opd_document_text(result->core));
    opd_document_put(object, "threads", json_integer(result->threads));
    opd_document_put(object, "runs", json_integer(result->runs));
    opd_document_put(object, "runs_failed", json_integer(result->runs_failed));
    opd_document_put(object, "runs_differing", json_integer(result->runs_differing));
    opd_document_put(object, "is_repeatable", json_boolean(result->is_repeatable));
    opd_document_put(object, "run_ns", opd_document_count(result->run_ns));
    if (result->numbers.is_valid) {
        opd_document_put(object, "numbers", numbers_object(&result->numbers));
    }
    return object;
}

json_t *opd_document_unread(const opd_unread *unread)
{
    json_t *array = json_array();
    for (size_t i = 0; i < unread->paths.count; i++) {
        json_t *object = json_object();
        opd_document_put(object, "path", opd_document_text(unread->paths.items[i]));
        opd_document_put(object, "error", opd_document_text(unread->reasons.items[i]));
        json_array_append_new(array, object);
    }
    return array;
}

json_t *opd_document_waiting(const opd_paths *paths)
{
    json_t *array = json_array();
    for (size_t i = 0; i < paths->folders.count; i++) {
        uint32_t killed = opd_record_left_behind(paths->folders.items[i]).orphaned;
        if (killed > 0) {
            json_t *object = json_object();
            opd_document_put(object, "path", opd_document_text(paths->folders.items[i]));
            opd_document_put(object, "recordings", json_integer(killed));
            json_array_append_new(array, object);
        }
    }
    return array;
}

/* DEL and the control characters that UTF-8 has of older sets: jansson leaves them as they are, JSON may also spell them. */
static int print_spelled(const char *text, size_t size, void *context)
{
    FILE *file = context;
    for (size_t i = 0; i < size; i++) {
        const unsigned char *at = (const unsigned char *)text + i;
        bool is_two = at[0] == 0xc2 && i + 1 < size && at[1] >= 0x80 && at[1] <= 0x9f;
        if (is_two || at[0] == 0x7f) {
            fprintf(file, "\\u%04x", at[is_two]);
            i += is_two;
        } else {
            fputc(at[0], file);
        }
    }
    return ferror(file) == 0 ? 0 : -1;
}

bool opd_document_print_to(const json_t *document, FILE *file)
{
    return document != NULL && json_dump_callback(document, print_spelled, file, JSON_INDENT(2)) == 0 &&
           fputc('\n', file) != EOF;
}

int opd_document_print(json_t *take_document, int exit_status)
{
    if (!opd_document_print_to(take_document, stdout)) {
        fprintf(stderr, "ops-debug: cannot write the JSON document\n");
        exit_status = OPD_EXIT_TROUBLE;
    }
    json_decref(take_document);
    return exit_status;
}
