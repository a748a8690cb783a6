/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs torch_reference.py on a folder of raw tensors. Always Debian's python3: another one may come first in PATH.
 */
#include "torch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "document.h"

#define PYTHON       "/usr/bin/python3"
#define MEMORY_LIMIT ((uint64_t)8 << 30)

static bool find_helper(char *path, size_t size)
{
    static const char *const places[] = { "torch_reference.py", "../libexec/opsdebug/torch_reference.py" };
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t i = 0; slash != NULL && i < OPD_COUNT(places); i++) {
        *slash = '\0';
        if (snprintf(path, size, "%s/%s", self, places[i]) < (int)size && access(path, R_OK) == 0) {
            return true;
        }
    }
    return false;
}

/* Row-major, as is. */
static opd_status write_tensor(const char *folder, const char *name, const opd_tensor *view)
{
    char path[PATH_MAX + 64];
    size_t size = opd_dtype_size(view->dtype);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    bool is_written = file != NULL;
    for (int64_t flat = 0; flat < opd_tensor_count(view) && is_written; flat++) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(view, flat, index);
        is_written = fwrite((const uint8_t *)view->data + opd_tensor_offset(view, index), size, 1, file) == 1;
    }
    if (file != NULL && fclose(file) != 0) {
        is_written = false;
    }
    return is_written ? OPD_OK : opd_fail(OPD_E_IO, "%s: %s", path, strerror(errno));
}

static json_t *tensor_object(const opd_operand *operand, const char *file)
{
    json_t *object = json_object();
    json_t *shape = json_array();
    for (int i = 0; i < operand->view.rank; i++) {
        json_array_append_new(shape, json_integer(operand->view.shape[i]));
    }
    opd_document_put(object, "name", opd_document_text(operand->name));
    opd_document_put(object, "dtype", json_string(opd_dtype_name(operand->view.dtype)));
    opd_document_put(object, "shape", shape);
    opd_document_put(object, "file", json_string(file));
    return object;
}

static opd_status write_request(const char *folder, const opd_case *item)
{
    char path[PATH_MAX + 64];
    json_t *request = json_object();
    json_t *inputs = json_array();
    json_t *outputs = json_array();
    json_t *call = opd_document_call(&item->call, false);
    opd_status status = OPD_OK;
    for (int i = 0; i < item->call.operand_count && status == OPD_OK; i++) {
        const opd_operand *operand = &item->call.operands[i];
        char file[32];
        bool is_absent = (operand->flags & OPD_OPERAND_ABSENT) != 0;
        snprintf(file, sizeof file, "%d.bin", i);
        if ((operand->role & OPD_ROLE_IN) != 0) {
            json_array_append_new(inputs, is_absent ? json_null() : tensor_object(operand, file));
            status = is_absent ? OPD_OK : write_tensor(folder, file, &operand->view);
        } else {
            json_array_append_new(outputs, is_absent ? json_null() : tensor_object(operand, file));
        }
    }
    opd_document_put(request, "domain", opd_document_text(item->call.domain));
    opd_document_put(request, "op", opd_document_text(item->call.name));
    opd_document_put(request, "attributes", json_incref(json_object_get(call, "attributes")));
    opd_document_put(request, "inputs", inputs);
    opd_document_put(request, "outputs", outputs);
    snprintf(path, sizeof path, "%s/request.json", folder);
    if (status == OPD_OK && json_dump_file(request, path, 0) != 0) {
        status = opd_fail(OPD_E_IO, "%s: cannot be written", path);
    }
    json_decref(call);
    json_decref(request);
    return status;
}

/* The last line that the helper said. */
static void read_words(char *text, size_t size, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[512];
    snprintf(text, size, "%s", PYTHON " said nothing");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(text, size, "%.300s", line);
    }
    if (file != NULL) {
        fclose(file);
    }
}

static opd_status spawn_helper(char *helper, char *folder)
{
    char said[PATH_MAX + 64];
    char words[512];
    char python[] = PYTHON;
    char *arguments[] = { python, helper, folder, NULL };
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int wait_status = 0;
    snprintf(said, sizeof said, "%s/said", folder);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int error = posix_spawn(&child, python, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s: %s; apt-get install python3-torch", python, strerror(error));
    }
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) {
        return OPD_OK;
    }
    read_words(words, sizeof words, said);
    bool is_said = WIFEXITED(wait_status) && (WEXITSTATUS(wait_status) == 77 || WEXITSTATUS(wait_status) == 78);
    return opd_fail(is_said ? OPD_E_UNSUPPORTED : OPD_E_CHILD, "%s", words);
}

static opd_status read_outputs(opd_case *out, const char *folder)
{
    for (int i = 0; i < out->call.operand_count; i++) {
        opd_operand *operand = &out->call.operands[i];
        char path[PATH_MAX + 64];
        if ((operand->role & OPD_ROLE_IN) != 0 || (operand->flags & OPD_OPERAND_ABSENT) != 0) {
            continue;
        }
        size_t count = (size_t)opd_tensor_count(&operand->view);
        snprintf(path, sizeof path, "%s/%s.bin", folder, operand->name);
        FILE *file = fopen(path, "rb");
        bool is_read = file != NULL && (count == 0 || fread(operand->view.data, opd_dtype_size(operand->view.dtype),
                                                            count, file) == count);
        if (file != NULL) {
            fclose(file);
        }
        if (!is_read) {
            return opd_fail(OPD_E_CHILD, "PyTorch's %s did not come back whole", operand->name);
        }
    }
    return OPD_OK;
}

static void remove_folder(const char *folder, int operands, const opd_call *call)
{
    char path[PATH_MAX + 64];
    for (int i = 0; i < operands; i++) {
        snprintf(path, sizeof path, "%s/%d.bin", folder, i);
        unlink(path);
        snprintf(path, sizeof path, "%s/%s.bin", folder, call->operands[i].name);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/request.json", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/said", folder);
    unlink(path);
    rmdir(folder);
}

opd_status opd_torch_run(opd_case *out, const opd_case *item)
{
    char helper[PATH_MAX];
    char folder[PATH_MAX];
    const char *room = getenv("TMPDIR");
    opd_case made = { 0 };
    if (!find_helper(helper, sizeof helper)) {
        return opd_fail(OPD_E_CHILD, "torch_reference.py is not beside this program nor in ../libexec/opsdebug");
    }
    snprintf(folder, sizeof folder, "%s/ops-debug-torch-XXXXXX", room != NULL && room[0] != '\0' ? room : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return opd_fail(OPD_E_IO, "%s: %s", folder, strerror(errno));
    }
    opd_status status = write_request(folder, item);
    if (status == OPD_OK) {
        status = spawn_helper(helper, folder);
    }
    if (status == OPD_OK) {
        status = opd_case_allocate(&made, &item->call, MEMORY_LIMIT);
    }
    if (status == OPD_OK) {
        status = read_outputs(&made, folder);
    }
    remove_folder(folder, item->call.operand_count, &item->call);
    if (status != OPD_OK) {
        opd_case_done(&made);
        return status;
    }
    *out = made;
    return OPD_OK;
}
