/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX's own tests on disk: a folder with a model beside test_data_set_N/input_K.pb and output_K.pb, a model beside such files, or a tree of folders; and
 * one of them made a bundle.
 */
#ifndef OPD_CLI_ONNX_TESTS_H
#define OPD_CLI_ONNX_TESTS_H

#include <stdbool.h>
#include <stddef.h>

#include <opsdebug/status.h>

typedef struct opd_onnx_test {
    char model[4096]; /* path */
    char data[4096];  /* folder of its inputs and outputs */
    char name[256];   /* of the test in the tree: "node-test_abs", "node-test_abs-1" */
} opd_onnx_test;

typedef struct opd_onnx_tests {
    opd_onnx_test *items; /* sorted by path */
    size_t count;
} opd_onnx_tests;

/* Of a model file, or of a folder and all below it. errors: E_NOTFOUND there is none; E_IO; E_LIMIT a path is too long. */
opd_status opd_onnx_tests_find(opd_onnx_tests *tests, const char *path);
void opd_onnx_tests_done(opd_onnx_tests *tests);

/*
 * Writes the test as the bundle at path: one call with its inputs, and as what it leaves the expected outputs, marked OPD_EVENT_GOLDEN.
 * errors    those of the readers; E_IO.
 */
opd_status opd_onnx_test_import(const opd_onnx_test *test, const char *path);

#endif
