/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routines in the data of an object: relocations that store an address (function tables, a routine taken as a value). The
 * loader reports no binding for them; what it stored is told from the relocation, the name and the value found there.
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "audit.h"
#include "elf_names.h"
#include "interpose.h"
#include "modules.h"

/* Is the slot among what the loader has made read-only after relocating? */
static bool is_sealed(const struct link_map *map, uintptr_t slot)
{
    struct dl_find_object object;
    if (!opd_module_find(&object, (const void *)slot) || object.dlfo_link_map != map) { // NOLINT
        return false;
    }
    const ElfW(Ehdr) *header = object.dlfo_map_start;
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)((const uint8_t *)header + header->e_phoff);
    for (uint32_t i = 0; i < header->e_phnum; i++) {
        uintptr_t start = map->l_addr + parts[i].p_vaddr;
        if (parts[i].p_type == PT_GNU_RELRO && slot >= start && slot < start + parts[i].p_memsz) {
            return true;
        }
    }
    return false;
}

static void store(const struct link_map *map, uintptr_t slot, void *stub)
{
    _Atomic(void *) *place = (_Atomic(void *) *)slot; // NOLINT(performance-no-int-to-ptr)
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)(slot & ~(size - 1)); // NOLINT(performance-no-int-to-ptr)
    if (!is_sealed(map, slot)) {
        atomic_store(place, stub);
    } else if (mprotect(page, size, PROT_READ | PROT_WRITE) == 0) {
        atomic_store(place, stub);
        mprotect(page, size, PROT_READ);
    }
}

/* Is value the definition of name in the object that holds it? */
static bool is_definition(const char *name, uintptr_t value)
{
    struct dl_find_object object;
    opd_elf_names names;
    if (!opd_module_find(&object, (const void *)value) || !opd_elf_names_of(&names, object.dlfo_link_map)) { // NOLINT
        return false;
    }
    const ElfW(Sym) *symbol = opd_elf_find(&names, name, opd_elf_hash(name));
    return symbol != NULL &&
           (names.base + symbol->st_value == value || ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC);
}

static void look_at_slot(const struct link_map *map, uintptr_t slot, const char *name)
{
    const void *wrapper = opd_audit_wrapper(name);
    uintptr_t value = wrapper != NULL ? *(const uintptr_t *)slot : 0; // NOLINT(performance-no-int-to-ptr)
    void *function = NULL;
    if (wrapper != NULL && value == (uintptr_t)wrapper) {
        function = opd_find_locally(name, map);
    } else if (value != 0 && is_definition(name, value)) {
        function = (void *)value; // NOLINT(performance-no-int-to-ptr)
    }
    void *stub = function != NULL ? opd_audit_stub(wrapper, function) : NULL;
    if (stub != NULL) {
        store(map, slot, stub);
    }
}

static bool imports_routine(const opd_elf_names *names)
{
    uint32_t count = opd_elf_imports(names);
    for (uint32_t i = 1; i < count; i++) {
        if (names->symbols[i].st_shndx == SHN_UNDEF &&
            opd_audit_wrapper(names->strings + names->symbols[i].st_name) != NULL) {
            return true;
        }
    }
    return false;
}

void opd_audit_tables(const struct link_map *map)
{
    opd_elf_names names;
    if (!opd_elf_names_of(&names, map) || !imports_routine(&names)) {
        return;
    }
    uint32_t imports = opd_elf_imports(&names);
    for (size_t i = 0; i < names.relocation_bytes / sizeof(ElfW(Rela)); i++) {
        const ElfW(Rela) *at = &names.relocations[i];
        uint32_t index = (uint32_t)ELF64_R_SYM(at->r_info);
        uint32_t type = (uint32_t)ELF64_R_TYPE(at->r_info);
#if defined(__x86_64__)
        bool is_address = type == R_X86_64_64 || type == R_X86_64_GLOB_DAT;
#else
        bool is_address = false;
#endif
        if (is_address && index != 0 && index < imports && at->r_addend == 0) {
            look_at_slot(map, map->l_addr + at->r_offset, names.strings + names.symbols[index].st_name);
        }
    }
}
