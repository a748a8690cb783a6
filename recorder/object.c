/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to object files on disk: build-id, the symbol at an address, BLAS names defined, what the loader will make of it. */
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

/* Is name that of a routine under any pattern? Else: does it start and continue as if it were? */
static void judge_name(opd_object_facts *out, const char *name)
{
    static const char *const stems[] = { "cblas_dgemm", "cblas_sgemm", "dgemm_", "sgemm_" };
    char known[64];
    for (size_t i = 0; i < OPD_COUNT(stems); i++) {
        const char *place = strstr(name, stems[i]);
        if (place == NULL) {
            continue;
        }
        const opd_routine *routine = opd_routine_find(strstr(stems[i], "dgemm") != NULL ? "dgemm" : "sgemm");
        for (int pattern = 0; routine != NULL && pattern < opd_name_pattern_count(); pattern++) {
            if (opd_routine_symbol(known, sizeof(known), routine, opd_name_pattern_at(pattern)) &&
                strcmp(known, name) == 0) {
                snprintf(out->defines, sizeof(out->defines), "%s", name);
                return;
            }
        }
        size_t rest = strlen(place + strlen(stems[i]));
        bool is_suffix = rest <= 4 || (rest <= 16 && name[strlen(name) - 1] == '_'); /* as Fortran's: dgemm_foo7_ */
        bool is_like = is_suffix && place - name <= 16 && strstr(name, "batch") == NULL;
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
