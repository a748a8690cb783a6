/* SPDX-License-Identifier: Apache-2.0 */
/* Probes to text and back: one table of words for the forms beside wrong variants, for what validate prints and for what it takes. */
#include "probe_form.h"

#include <string.h>

#include <opsdebug/memory.h>

#include "phrases.h"

static const char *const words[OPD_PROBE_KINDS] = {
    [OPD_PROBE_NEGATIVE] = "negative",     [OPD_PROBE_UNREAD] = "unread",         [OPD_PROBE_STRIDED] = "strided",
    [OPD_PROBE_MISALIGNED] = "misaligned", [OPD_PROBE_SAME_INPUT] = "same-input", [OPD_PROBE_IN_PLACE] = "in-place",
    [OPD_PROBE_GUARD] = "guard",           [OPD_PROBE_REPEAT] = "repeat",         [OPD_PROBE_POISONED] = "poisoned",
    [OPD_PROBE_THREADS] = "threads",       [OPD_PROBE_AT_ONCE] = "concurrent",
};

static opd_status unknown(const char *word)
{
    char list[256] = "fill=KIND, dtype=TYPE";
    size_t used = strlen(list);
    for (int kind = 0; kind < OPD_PROBE_KINDS; kind++) {
        if (words[kind] != NULL) {
            used += (size_t)snprintf(list + used, sizeof list - used, ", %s", words[kind]);
        }
    }
    return opd_fail(OPD_E_INVALID, "no condition '%s'; there are %s", word, list);
}

static opd_status read_condition(opd_probe *to, const char *word)
{
    opd_fill fill;
    if (strncmp(word, "fill=", 5) == 0) {
        if (strlen(word + 5) >= sizeof to->fill) {
            return opd_fail(OPD_E_INVALID, "the fill '%s' is longer than %zu characters", word + 5,
                            sizeof to->fill - 1);
        }
        snprintf(to->fill, sizeof to->fill, "%s", word + 5);
        return opd_fill_parse(&fill, to->fill);
    }
    if (strncmp(word, "dtype=", 6) == 0) {
        to->dtype = opd_dtype_parse(word + 6);
        return to->dtype != OPD_DTYPE_NONE ? OPD_OK : opd_fail(OPD_E_INVALID, "no dtype '%s'", word + 6);
    }
    for (int kind = 0; kind < OPD_PROBE_KINDS; kind++) {
        if (words[kind] == NULL || strcmp(words[kind], word) != 0) {
            continue;
        }
        if (to->kind != OPD_PROBE_PLAIN) {
            return opd_fail(OPD_E_INVALID, "'%s' and '%s' exclude each other", words[to->kind], word);
        }
        to->kind = (opd_probe_kind)kind;
        return OPD_OK;
    }
    return unknown(word);
}

static opd_status read_conditions(opd_probe *to, const char *text)
{
    opd_status status = OPD_OK;
    while (status == OPD_OK && *text != '\0') {
        char word[64];
        size_t size = strcspn(text, " ");
        if (size >= sizeof word) {
            return opd_fail(OPD_E_INVALID, "a condition has at most %zu characters: '%s'", sizeof word - 1, text);
        }
        snprintf(word, sizeof word, "%.*s", (int)size, text);
        status = size > 0 ? read_condition(to, word) : OPD_OK;
        text += size;
        text += strspn(text, " ");
    }
    return status;
}

/* A part of the text up to '|', without blanks around it. */
static const char *take_part(char *to, size_t size, const char *text, opd_status *status)
{
    text += strspn(text, " ");
    size_t whole = strcspn(text, "|");
    size_t length = whole;
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    if (length >= size) {
        *status = opd_fail(OPD_E_INVALID, "a part of a form has at most %zu characters: '%s'", size - 1, text);
        return text;
    }
    snprintf(to, size, "%.*s", (int)length, text);
    return text + whole + (text[whole] == '|');
}

opd_status opd_form_parse(opd_probe *out, const char *text)
{
    opd_probe probe = { .kind = OPD_PROBE_PLAIN };
    char conditions[192] = "";
    opd_status status = OPD_OK;
    const char *at = take_part(probe.shapes, sizeof probe.shapes, text, &status);
    at = status == OPD_OK ? take_part(probe.attributes, sizeof probe.attributes, at, &status) : at;
    at = status == OPD_OK ? take_part(conditions, sizeof conditions, at, &status) : at;
    if (status == OPD_OK && *at != '\0') {
        status = opd_fail(OPD_E_INVALID, "a form is 'shapes | attributes | conditions': '%s'", text);
    }
    if (status == OPD_OK) {
        status = read_conditions(&probe, conditions);
    }
    if (status == OPD_OK) {
        *out = probe;
    }
    return status;
}

void opd_form_print(char *text, size_t size, const opd_probe *probe)
{
    const char *word = words[probe->kind];
    bool has_fill = probe->fill[0] != '\0';
    bool has_dtype = probe->dtype != OPD_DTYPE_NONE;
    bool has_conditions = has_fill || has_dtype || word != NULL;
    bool has_attributes = probe->attributes[0] != '\0';
    size_t used = (size_t)snprintf(text, size, "%s%s%s", probe->shapes, has_attributes || has_conditions ? " | " : "",
                                   probe->attributes);
    if (has_conditions && used < size) {
        snprintf(text + used, size - used, "%s%s%s%s%s%s%s%s", has_attributes ? " | " : "| ", has_dtype ? "dtype=" : "",
                 has_dtype ? opd_dtype_name(probe->dtype) : "", has_dtype && (has_fill || word != NULL) ? " " : "",
                 has_fill ? "fill=" : "", probe->fill, has_fill && word != NULL ? " " : "", word != NULL ? word : "");
    }
}

/* Has `run` options that do the same? */
static bool is_for_run(opd_probe_kind kind)
{
    return words[kind] == NULL || kind == OPD_PROBE_GUARD || kind == OPD_PROBE_REPEAT;
}

static void print_option(FILE *to, const char *name, const char *value)
{
    char word[4096];
    if (value != NULL && value[0] != '\0') {
        opd_phrase_shell(word, sizeof word, value);
        fprintf(to, " %s %s", name, word);
    }
}

void opd_form_print_command(FILE *to, const opd_probe *probe, const opd_form_repeat *repeat)
{
    char form[512];
    bool is_run = is_for_run(probe->kind);
    fprintf(to, "ops-debug %s --op %s", is_run ? "run" : "validate", repeat->op);
    print_option(to, "--variant", repeat->variant);
    print_option(to, "--library", repeat->library);
    if (repeat->seed != 0) {
        fprintf(to, " --seed %llu", (unsigned long long)repeat->seed);
    }
    if (!is_run) {
        opd_form_print(form, sizeof form, probe);
        print_option(to, "--form", form);
        return;
    }
    print_option(to, "--dtype", probe->dtype != OPD_DTYPE_NONE ? opd_dtype_name(probe->dtype) : NULL);
    print_option(to, "--input-shapes", probe->shapes);
    print_option(to, "--attrs", probe->attributes);
    print_option(to, "--fill", probe->fill);
    fprintf(to, "%s",
            probe->kind == OPD_PROBE_GUARD    ? " --guard"
            : probe->kind == OPD_PROBE_REPEAT ? " --repeat 4"
                                              : "");
}
