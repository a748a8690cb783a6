/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to object files on disk: build-id, the symbol at an address, BLAS names defined, what the loader will make of it. */
#include <ctype.h>
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector.h"

#define PREFIX_LONGEST 22 /* of a routine's name: sixteen of the vendor's, and cblas_ */

/* Opens an ELF file; NULL when it is none. */
static Elf *open_elf(const char *path, int *file)
{
    *file = open(path, O_RDONLY | O_CLOEXEC);
    if (*file < 0) {
        return NULL;
    }
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(*file, ELF_C_READ_MMAP, NULL);
    if (elf == NULL || elf_kind(elf) != ELF_K_ELF) {
        elf_end(elf);
        close(*file);
        return NULL;
    }
    return elf;
}

static void close_elf(Elf *elf, int file)
{
    elf_end(elf);
    close(file);
}

void opd_object_build_id(char *text, size_t size, const char *path)
{
    int file;
    Elf *elf = open_elf(path, &file);
    const void *bits = NULL;
    text[0] = '\0';
    if (elf == NULL) {
        return;
    }
    ssize_t count = dwelf_elf_gnu_build_id(elf, &bits);
    for (ssize_t i = 0; i < count && (size_t)(2 * i + 3) <= size; i++) {
        snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)bits)[i]);
    }
    close_elf(elf, file);
}

void opd_object_symbol(char *text, size_t size, const char *path, uint64_t base, uint64_t address)
{
    static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
                                              .find_debuginfo = dwfl_standard_find_debuginfo,
                                              .section_address = dwfl_offline_section_address };
    text[0] = '\0';
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (dwfl == NULL) {
        return;
    }
    dwfl_report_begin(dwfl);
    Dwfl_Module *module = dwfl_report_elf(dwfl, path, path, -1, base, false);
    dwfl_report_end(dwfl, NULL, NULL);
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char *name =
        module == NULL ? NULL : dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);
    if (name != NULL) {
        snprintf(text, size, "%s+0x%llx", name, (unsigned long long)offset);
    }
    dwfl_end(dwfl);
}

/* The routine whose name stands at place, up to an underscore: "ddot" in "ddot_foo_", "dsyr2" in "dsyr264_". NULL = none. */
static const opd_routine *routine_at(const char *place, size_t *length)
{
    char name[16];
    const opd_routine *routine = NULL;
    size_t size = strcspn(place, "_");
    if (size >= sizeof(name) || size < 3 || strchr("sdczi", place[0]) == NULL) {
        return NULL;
    }
    memcpy(name, place, size);
    name[size] = '\0';
    routine = opd_routine_find(name);
    while (routine == NULL && size > 3 && isdigit((unsigned char)name[size - 1])) { /* the width of integers */
        name[--size] = '\0';
        routine = opd_routine_find(name);
    }
    *length = size;
    bool is_lapack = routine != NULL && routine->op->is_complex_fortran_only && opd_dtype_is_complex(routine->dtype);
    return is_lapack ? NULL : routine; /* csyr_ and the like are LAPACK's */
}

static bool is_known_symbol(const char *name, const opd_routine *routine)
{
    char known[64];
    for (int pattern = 0; pattern < opd_name_pattern_count(); pattern++) {
        if (opd_routine_symbol(known, sizeof(known), routine, opd_name_pattern_at(pattern)) &&
            strcmp(known, name) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * What follows a routine's name in one that a library may have been built to export. Behind cblas_ any suffix; else that of a
 * Fortran name (ddot_foo7_), as C has names of its own such as dcopy_to_user; of matrix products a short one as well.
 */
static bool is_suffix(const char *rest, const opd_routine *routine, bool is_cblas)
{
    size_t size = strlen(rest);
    bool has_end = size > 0 && rest[0] == '_' && rest[size - 1] == '_';
    bool is_short = rest[0] == '_' && size <= 5 && routine->op->level == 3;
    bool is_width = size == 0 || rest[0] == '_' || isdigit((unsigned char)rest[0]);
    return size <= 17 && (is_cblas ? is_width : has_end || is_short);
}

/* Is name that of a routine under any pattern? Else: does it start and continue as if it were? */
static void judge_name(opd_object_facts *out, const char *name)
{
    if (out->defines[0] != '\0') {
        return;
    }
    for (const char *place = name; place != NULL && place - name <= PREFIX_LONGEST;
         place = strchr(place, '_') != NULL ? strchr(place, '_') + 1 : NULL) {
        size_t length = 0;
        const opd_routine *routine = routine_at(place, &length);
        if (routine == NULL) {
            continue;
        }
        if (is_known_symbol(name, routine)) {
            snprintf(out->defines, sizeof(out->defines), "%s", name);
            return;
        }
        const char *rest = place + length;
        rest += routine->op->has_sub_form && strncmp(rest, "_sub", 4) == 0 ? 4 : 0;
        bool is_cblas = place - name >= 6 && strncmp(place - 6, "cblas_", 6) == 0;
        bool is_like = is_suffix(rest, routine, is_cblas) && strstr(name, "batch") == NULL;
        if (is_like && out->unknown[0] == '\0') {
            snprintf(out->unknown, sizeof(out->unknown), "%s", name);
        }
    }
}

static void read_symbols(opd_object_facts *out, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    if (data == NULL || header->sh_entsize == 0) {
        return;
    }
    for (size_t i = 0; i < header->sh_size / header->sh_entsize; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol) != NULL && symbol.st_shndx != SHN_UNDEF &&
            GELF_ST_TYPE(symbol.st_info) == STT_FUNC) {
            const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
            if (name != NULL) {
                judge_name(out, name);
            }
        }
    }
}

static void read_needed(opd_object_facts *out, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    for (size_t i = 0; data != NULL && header->sh_entsize != 0 && i < header->sh_size / header->sh_entsize; i++) {
        GElf_Dyn entry;
        if (gelf_getdyn(data, (int)i, &entry) == NULL || entry.d_tag != DT_NEEDED) {
            continue;
        }
        const char *name = elf_strptr(elf, header->sh_link, entry.d_un.d_val);
        if (name != NULL && strncmp(name, "libasan.so", 10) == 0) {
            out->needs_asan = true;
            snprintf(out->asan, sizeof(out->asan), "%s", name);
        }
    }
}

void opd_object_examine(opd_object_facts *out, const char *path, bool with_names)
{
    *out = (opd_object_facts){ .is_elf = false };
    struct stat status;
    int file;
    Elf *elf = open_elf(path, &file);
    if (elf == NULL) {
        return;
    }
    out->is_elf = true;
    out->is_setuid = fstat(file, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0;
    out->is_static = true;
    size_t count = 0;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr program;
        if (gelf_getphdr(elf, (int)i, &program) != NULL &&
            (program.p_type == PT_INTERP || program.p_type == PT_DYNAMIC)) {
            out->is_static = out->is_static && program.p_type == PT_DYNAMIC;
        }
    }
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == NULL) {
            continue;
        }
        if (with_names && (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)) {
            read_symbols(out, elf, section, &header);
        } else if (header.sh_type == SHT_DYNAMIC) {
            read_needed(out, elf, section, &header);
        }
    }
    close_elf(elf, file);
}
