/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over files and the files of folders: how ctest replays a corpus without libFuzzer.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0;
    size_t got = 0;

    if (!file) {
        perror(path);
        return -1;
    }
    do {
        data = realloc(data, size + 65536);
        got = data ? fread(data + size, 1, 65536, file) : 0;
        size += got;
    } while (got > 0);
    fclose(file);
    if (!data) {
        return -1;
    }
    /* An exact allocation, so that a sanitizer sees a read past its end. */
    uint8_t *exact = malloc(size ? size : 1);
    if (exact) {
        memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
    }
    free(exact);
    free(data);
    return exact ? 1 : -1;
}

static int run_path(const char *path)
{
    struct stat info;
    int count = 0;

    if (stat(path, &info) != 0) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(info.st_mode)) {
        return run_file(path);
    }
    DIR *folder = opendir(path);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry && count >= 0; entry = readdir(folder)) {
        char name[4096];
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        int done = run_file(name);
        count = done < 0 ? done : count + done;
    }
    if (folder) {
        closedir(folder);
    }
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++) {
        int done = run_path(argv[i]);
        if (done < 0) {
            return 3;
        }
        count += done;
    }
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 3; /* an empty corpus tests nothing */
}
