/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder and what it wrote, for tests in shell: runs a program under the recorder and prints the report, or
 * prints a bundle, as KEY=VALUE words a line.
 *   record_probe run OUT [capture=C] [trigger=T] [budget=BYTES] [match=G] [range=A:B] [sample=N] [bundles=N] -- PROGRAM...
 *   record_probe recover OUT
 *   record_probe dump BUNDLE
 *   record_probe content BUNDLE DIGEST BYTES    a content that is bytes, as it is
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <opsdebug/record.h>

static int fail(const char *what)
{
    fprintf(stderr, "record_probe: %s: %s\n", what, opd_error_text());
    return 125;
}

static opd_status set_option(opd_record_options *options, char *word)
{
    char *value = strchr(word, '=');
    if (value == NULL) {
        return opd_fail(OPD_E_INVALID, "not KEY=VALUE: %s", word);
    }
    *value++ = '\0';
    if (strcmp(word, "capture") == 0) {
        return opd_capture_parse(&options->capture, value);
    }
    if (strcmp(word, "trigger") == 0) {
        return opd_triggers_parse(options, value);
    }
    if (strcmp(word, "torch") == 0) {
        options->torch = strcmp(value, "1") == 0;
    } else if (strcmp(word, "match") == 0) {
        options->match = value;
    } else if (strcmp(word, "budget") == 0) {
        options->budget = strtoull(value, NULL, 10);
    } else if (strcmp(word, "sample") == 0) {
        options->sample = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(word, "sample_stats") == 0) {
        options->sample_stats = strcmp(value, "on") == 0;
    } else if (strcmp(word, "bundles") == 0) {
        options->max_bundles = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(word, "per_failure") == 0) {
        options->per_failure = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(word, "first") == 0) {
        options->first = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(word, "tracking") == 0) {
        options->ignores_writes = strcmp(value, "off") == 0;
    } else if (strcmp(word, "preload") == 0) {
        options->preload = value;
    } else if (strcmp(word, "audit") == 0) {
        options->without_audit = strcmp(value, "off") == 0;
    } else if (strcmp(word, "range") == 0) {
        options->range_first = strtoull(value, &value, 10);
        options->range_last = strtoull(value + 1, NULL, 10);
    } else {
        return opd_fail(OPD_E_INVALID, "unknown key %s", word);
    }
    return OPD_OK;
}

static void print_report(const opd_record_report *report)
{
    const char *kind = WIFSIGNALED(report->exit_status) ? "signal" : "exit";
    int code = WIFSIGNALED(report->exit_status) ? WTERMSIG(report->exit_status) : WEXITSTATUS(report->exit_status);
    fprintf(stderr,
            "report %s=%d calls=%" PRIu64 " nested=%" PRIu64 " dropped=%" PRIu64 " processes=%" PRIu64
            " threads=%" PRIu64 " bundles=%u suppressed=%u cut=%u lost=%" PRIu64 " refused=%" PRIu64 " seen=%" PRIu64
            " stored=%" PRIu64 " audited=%" PRIu64 " kinds=%" PRIu64 " survived=%u\n",
            kind, code, report->calls, report->calls_nested, report->dropped, report->processes, report->threads,
            report->bundles, report->suppressed, report->bundles_cut, report->threads_lost, report->data_refused,
            report->bytes_seen, report->bytes_stored, report->processes_audited, report->kinds, report->survived);
    for (unsigned i = 0; i < report->bundles && i < 16; i++) {
        fprintf(stderr, "bundle %s\n", report->bundle_paths[i]);
    }
    fprintf(stderr, "why %s\nreduced %s\ntrouble %s\nrun_trouble %s\n", report->why_nothing, report->reduced,
            report->trouble, report->run_trouble);
}

static int run(int count, char **words)
{
    opd_record_options options = OPD_RECORD_OPTIONS_INIT;
    static opd_record_report report;
    int at = 1;
    options.out = words[0];
    while (at < count && strcmp(words[at], "--") != 0) {
        if (set_option(&options, words[at++]) != OPD_OK) {
            return fail("options");
        }
    }
    options.argv = words + at + 1;
    opd_status status = at < count ? opd_record_run(&report, &options) : opd_fail(OPD_E_INVALID, "no program");
    if (status != OPD_OK) {
        fail("run");
        return status == OPD_E_NOTFOUND ? 127 : status == OPD_E_UNSUPPORTED ? 126 : 125;
    }
    print_report(&report);
    return WIFEXITED(report.exit_status) ? WEXITSTATUS(report.exit_status) : 128 + WTERMSIG(report.exit_status);
}

static void print_operand(const opd_bundle *bundle, const opd_operand *operand)
{
    char view[160];
    char before[OPD_DIGEST_TEXT] = "-";
    char after[OPD_DIGEST_TEXT] = "-";
    opd_tensor_describe(view, sizeof(view), &operand->view);
    if (!opd_digest_is_none(&operand->before)) {
        opd_digest_print(before, &operand->before);
    }
    if (!opd_digest_is_none(&operand->after)) {
        opd_digest_print(after, &operand->after);
    }
    printf("  operand %s role=%d flags=0x%x before=%s after=%s stored=%d,%d nan=%" PRIu64 ",%" PRIu64 " view=%s\n",
           operand->name, (int)operand->role, operand->flags, before, after,
           opd_bundle_has_tensor(bundle, &operand->before), opd_bundle_has_tensor(bundle, &operand->after),
           operand->health_before.nan, operand->health_after.nan, view);
}

static void print_call(const opd_bundle *bundle, const opd_call *call)
{
    char text[300];
    const opd_module *provider = opd_bundle_module(bundle, call->provider);
    const opd_module *caller = opd_bundle_module(bundle, call->caller);
    opd_call_describe(text, sizeof(text), call);
    printf("call thread=%u number=%" PRIu64 " symbol=%s flags=0x%x mxcsr=0x%x depth=%u bad_arg=%d ns=%" PRIu64
           " provider=%s core=%s caller=%s what=%s\n",
           call->thread, call->number, call->symbol[0] != '\0' ? call->symbol : call->name, call->flags, call->mxcsr,
           call->depth, call->bad_arg, call->end_ns > call->begin_ns ? call->end_ns - call->begin_ns : 0,
           provider != NULL ? provider->path : "-", provider != NULL ? provider->core : "-",
           caller != NULL ? caller->path : "-", text);
    for (int i = 0; i < call->operand_count; i++) {
        print_operand(bundle, &call->operands[i]);
    }
}

static void print_failure(const opd_failure *failure)
{
    printf("failure outcome=%s thread=%u call=%" PRIu64 " operand=%s index=", opd_outcome_name(failure->outcome),
           failure->thread, failure->call_number, failure->operand);
    for (int i = 0; i < failure->index_rank; i++) {
        printf("%s%" PRId64, i > 0 ? "," : "", failure->index[i]);
    }
    printf(" bad=%" PRIu64 " signal=%d address=0x%" PRIx64 " symbol=%s reason=%s\n", failure->bad_count,
           failure->signal, failure->fault_address, failure->pc_symbol, failure->reason);
}

static void print_stacks(const opd_bundle *bundle)
{
    const opd_crash_info *crash = opd_bundle_crash(bundle);
    if (crash != NULL) {
        printf("crash thread=%u access=%s address=0x%" PRIx64 " place=%d operand=%s distance=%" PRId64
               " overflow=%d threads=%u silent=%u stack_limit=%" PRIu64 " index=",
               crash->thread, opd_access_name(crash->access), crash->address, (int)crash->place, crash->operand,
               crash->distance, crash->is_overflow, crash->threads, crash->silent, crash->limits[0][0]);
        for (int i = 0; i < crash->index_rank; i++) {
            printf("%s%" PRId64, i > 0 ? "," : "", crash->index[i]);
        }
        putchar('\n');
    }
    for (uint32_t i = 0; i < opd_bundle_stack_count(bundle); i++) {
        const opd_stack *stack = opd_bundle_stack(bundle, i);
        printf("stack thread=%u state=%s call=%" PRIu64 " cut=%d", stack->thread, opd_stack_state_name(stack->state),
               stack->call_number, stack->is_cut);
        for (int k = 0; k < OPD_REGISTERS; k++) {
            printf(" %s=0x%" PRIx64, opd_register_name(k), stack->registers[k]);
        }
        printf(" name=%s\n", stack->name);
        for (uint32_t k = 0; k < stack->frame_count; k++) {
            const opd_frame *frame = &stack->frames[k];
            const opd_module *module = opd_bundle_module(bundle, frame->module);
            printf("  frame address=0x%" PRIx64 " module=%s build=%s name=%s\n", frame->address,
                   module != NULL ? module->path : "-", module != NULL ? module->build_id : "-", frame->symbol);
        }
    }
}

static int dump(const char *path)
{
    opd_bundle *bundle;
    static opd_call call;
    if (opd_bundle_open(&bundle, path) != OPD_OK) {
        return fail("dump");
    }
    const opd_bundle_state *state = opd_bundle_state_of(bundle);
    const opd_header_info *header = opd_bundle_header(bundle);
    printf("bundle kind=%s pid=%u calls=%" PRIu64 " partial=%d damaged=%" PRIu64 " program=%s command=%s\n",
           header->kind, header->pid, opd_bundle_call_count(bundle), state->is_partial, state->damaged, header->program,
           header->command);
    for (uint64_t i = 0; i < opd_bundle_call_count(bundle); i++) {
        if (opd_bundle_call(&call, bundle, i) != OPD_OK) {
            return fail("call");
        }
        print_call(bundle, &call);
    }
    for (uint32_t i = 0; i < opd_bundle_event_count(bundle); i++) {
        const opd_event *event = opd_bundle_event(bundle, i);
        printf("event kind=%s value=%" PRId64 " name=%s\n", event->kind, event->value, event->name);
    }
    for (uint32_t i = 0; i < opd_bundle_count_count(bundle); i++) {
        const opd_count *count = opd_bundle_count(bundle, i);
        printf("count thread=%u number=%" PRIu64 " calls=%" PRIu64 " ns=%" PRIu64 " rest=%d\n", count->thread,
               count->number, count->calls, count->ns, count->is_rest);
    }
    for (uint32_t i = 0; i < opd_bundle_failure_count(bundle); i++) {
        print_failure(opd_bundle_failure(bundle, i));
    }
    print_stacks(bundle);
    opd_bundle_close(bundle);
    return 0;
}

static int put_content(const char *path, const char *text, int64_t size)
{
    static uint8_t bytes[1 << 16];
    opd_bundle *bundle;
    opd_digest digest;
    opd_tensor view;
    if (size > (int64_t)sizeof(bytes) || opd_tensor_contiguous(&view, OPD_U8, 1, &size, NULL) != OPD_OK ||
        strlen(text) != 2 * sizeof(digest.bytes) || opd_bundle_open(&bundle, path) != OPD_OK) {
        return fail("content");
    }
    for (size_t i = 0; i < sizeof(digest.bytes); i++) {
        const char pair[] = { text[2 * i], text[2 * i + 1], '\0' };
        digest.bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    opd_status status = opd_bundle_tensor(bytes, (size_t)size, bundle, &digest, &view);
    opd_bundle_close(bundle);
    return status == OPD_OK && fwrite(bytes, 1, (size_t)size, stdout) == (size_t)size ? 0 : fail("content");
}

int main(int count, char **words)
{
    if (count >= 3 && strcmp(words[1], "run") == 0) {
        return run(count - 2, words + 2);
    }
    if (count == 3 && strcmp(words[1], "recover") == 0) {
        static opd_record_report report;
        if (opd_record_recover(&report, words[2]) != OPD_OK) {
            return fail("recover");
        }
        print_report(&report);
        return 0;
    }
    if (count == 3 && strcmp(words[1], "dump") == 0) {
        return dump(words[2]);
    }
    if (count == 5 && strcmp(words[1], "content") == 0) {
        return put_content(words[2], words[3], strtoll(words[4], NULL, 10));
    }
    fprintf(stderr, "record_probe run OUT [KEY=VALUE...] -- PROGRAM ARGUMENT...\n"
                    "record_probe recover OUT\n"
                    "record_probe dump BUNDLE\n"
                    "record_probe content IN.opsb OUT.opsb VALUE\n");
    return 2;
}
