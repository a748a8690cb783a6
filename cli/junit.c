/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JUnit XML writer.
 */
#include "junit.h"

#include <opsdebug/memory.h>

/* XML 1.0 knows no control characters, not even escaped. */
static void add_escaped(opd_buffer *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        switch (*c) {
        case '<':
            opd_buffer_print(out, "&lt;");
            break;
        case '>':
            opd_buffer_print(out, "&gt;");
            break;
        case '&':
            opd_buffer_print(out, "&amp;");
            break;
        case '"':
            opd_buffer_print(out, "&quot;");
            break;
        default:
            opd_buffer_print(out, "%c", (unsigned char)*c < 0x20 ? ' ' : *c);
        }
    }
}

opd_status opd_junit_write(const char *path, const char *suite, const opd_junit_case *cases, size_t count)
{
    size_t failures = 0;
    size_t errors = 0;
    for (size_t i = 0; i < count; i++) {
        failures += cases[i].has_failed;
        errors += cases[i].is_error;
    }
    opd_buffer out;
    opd_buffer_init(&out, (size_t)64 << 20);
    opd_buffer_print(
        &out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"%s\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
        suite, count, failures, errors);
    for (size_t i = 0; i < count; i++) {
        opd_buffer_print(&out, "  <testcase classname=\"%s\" name=\"", suite);
        add_escaped(&out, cases[i].name);
        opd_buffer_print(&out, "\" time=\"%.6f\">", (double)cases[i].elapsed_ns * 1e-9);
        if (cases[i].has_failed || cases[i].is_error) {
            opd_buffer_print(&out, "<%s message=\"", cases[i].is_error ? "error" : "failure");
            add_escaped(&out, cases[i].message);
            opd_buffer_print(&out, "\"/>");
        }
        opd_buffer_print(&out, "</testcase>\n");
    }
    opd_buffer_print(&out, "</testsuite>\n");
    opd_status status = out.status != OPD_OK ? opd_fail(out.status, "%s: out of memory", path)
                                             : opd_write_file(path, out.bytes, out.size);
    opd_buffer_done(&out);
    return status;
}
