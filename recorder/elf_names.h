/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in a loaded object's dynamic symbol table, looked up without the loader: no lock, no allocation, no C library, so
 * that the audit shim and code that the loader calls can use it. sources: System V gABI; GNU hash as binutils writes it.
 */
#ifndef OPD_ELF_NAMES_H
#define OPD_ELF_NAMES_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct opd_elf_names {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings, *soname; /* soname: NULL = none */
    const uint32_t *gnu, *sysv;   /* hash tables; NULL = none */
    const ElfW(Rela) * relocations;
    size_t relocation_bytes;
} opd_elf_names;

/* The loader relocates some of these addresses in place and leaves others. */
static inline const void *opd_elf_address(uintptr_t base, uintptr_t value)
{
    return (const void *)(value < base ? value + base : value); // NOLINT(performance-no-int-to-ptr)
}

static inline bool opd_elf_names_of(opd_elf_names *out, const struct link_map *map)
{
    uintptr_t base = map->l_addr;
    ElfW(Xword) soname = 0;
    *out = (opd_elf_names){ .base = base };
    for (const ElfW(Dyn) *at = map->l_ld; at != NULL && at->d_tag != DT_NULL; at++) {
        const void *place = opd_elf_address(base, at->d_un.d_ptr);
        switch (at->d_tag) {
        case DT_SYMTAB:
            out->symbols = place;
            break;
        case DT_STRTAB:
            out->strings = place;
            break;
        case DT_GNU_HASH:
            out->gnu = place;
            break;
        case DT_HASH:
            out->sysv = place;
            break;
        case DT_RELA:
            out->relocations = place;
            break;
        case DT_RELASZ:
            out->relocation_bytes = at->d_un.d_val;
            break;
        case DT_SONAME:
            soname = at->d_un.d_val;
            break;
        default:
            break;
        }
    }
    out->soname = soname != 0 && out->strings != NULL ? out->strings + soname : NULL;
    return out->symbols != NULL && out->strings != NULL;
}

static inline bool opd_elf_is(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static inline uint32_t opd_elf_hash(const char *name)
{
    uint32_t hash = 5381;
    while (*name != '\0') {
        hash = hash * 33 + (uint8_t)*name++;
    }
    return hash;
}

/* The definition of a name in the object itself; NULL when it has none, or no GNU hash table. */
static inline const ElfW(Sym) * opd_elf_find(const opd_elf_names *object, const char *name, uint32_t hash)
{
    const uint32_t *table = object->gnu;
    if (table == NULL || table[0] == 0 || table[2] == 0) {
        return NULL;
    }
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(table + 4);
    const uint32_t *buckets = (const uint32_t *)(bloom + table[2]);
    const uint32_t *chains = buckets + table[0];
    uint32_t bits = 8 * sizeof(ElfW(Addr));
    ElfW(Addr) word = bloom[hash / bits % table[2]];
    uint32_t index = buckets[hash % table[0]];
    if ((word >> hash % bits & word >> (hash >> table[3]) % bits & 1) == 0 || index < table[1]) {
        return NULL;
    }
    for (;; index++) {
        uint32_t chain = chains[index - table[1]];
        const ElfW(Sym) *symbol = &object->symbols[index];
        if ((chain | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
            opd_elf_is(object->strings + symbol->st_name, name)) {
            return symbol;
        }
        if ((chain & 1) != 0) {
            return NULL;
        }
    }
}

/* Symbols below this index are imports; with a System V table alone, any may be. */
static inline uint32_t opd_elf_imports(const opd_elf_names *object)
{
    return object->gnu != NULL ? object->gnu[1] : object->sysv != NULL ? object->sysv[1] : 0;
}

/* One past the last symbol of a GNU hash table. */
static inline uint32_t opd_elf_end(const opd_elf_names *object)
{
    const uint32_t *table = object->gnu;
    if (table == NULL) {
        return 0;
    }
    const uint32_t *buckets = (const uint32_t *)((const ElfW(Addr) *)(table + 4) + table[2]);
    const uint32_t *chains = buckets + table[0];
    uint32_t last = 0;
    for (uint32_t i = 0; i < table[0]; i++) {
        last = buckets[i] > last ? buckets[i] : last;
    }
    if (last < table[1]) {
        return table[1];
    }
    while ((chains[last - table[1]] & 1) == 0) {
        last++;
    }
    return last + 1;
}

#endif
