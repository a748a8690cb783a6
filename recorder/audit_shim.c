/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opsdebug-audit.so, for LD_AUDIT: tells the preloaded recorder what the loader binds. An object of its own, which needs no
 * library and holds no state but where the recorder is. Objects that define no BLAS routine cost one look at their names.
 * See rtld-audit(7). There is no la_pltenter: calls do not pass here, and bindings only where the flags ask for it.
 *
 * A dlsym in glibc up to 2.36 at least goes on to the next audit library only after one that it has called: so this one has
 * la_symbind64, asks for every binding of every object that is looked from, and is the first in the list.
 */
#include <stdatomic.h>

#include "audit_port.h"
#include "elf_names.h"

#define WRAPPERS_MAX 4096u
#define ELSEWHERE    ((uintptr_t)1) /* in a cookie: the object is of another name space than the program (dlmopen) */

static opd_audit_port *port;
static opd_elf_names own; /* of the preloaded object */
static struct {
    uint32_t symbol, hash;
} wrappers[WRAPPERS_MAX];
static uint32_t wrapper_count;

static void meet_recorder(const opd_elf_names *object)
{
    const ElfW(Sym) *place = opd_elf_find(object, OPD_AUDIT_PORT, opd_elf_hash(OPD_AUDIT_PORT));
    const ElfW(Sym) *marker = opd_elf_find(object, OPD_AUDIT_MARKER, opd_elf_hash(OPD_AUDIT_MARKER));
    if (place == NULL || marker == NULL || place->st_size != sizeof(opd_audit_port)) {
        return; /* of another version */
    }
    own = *object;
    uint32_t end = opd_elf_end(object);
    for (uint32_t i = opd_elf_imports(object); i < end && wrapper_count < WRAPPERS_MAX; i++) {
        if (object->symbols[i].st_shndx == marker->st_shndx) {
            wrappers[wrapper_count].symbol = i;
            wrappers[wrapper_count++].hash = opd_elf_hash(object->strings + object->symbols[i].st_name);
        }
    }
    port = (opd_audit_port *)(object->base + place->st_value);
    atomic_store(&port->is_audited, 1);
}

/* An object without a GNU hash table, or seen before the recorder, may. */
static bool may_define_routine(const opd_elf_names *object)
{
    bool is_unknown = port == NULL || object->gnu == NULL;
    for (uint32_t i = 0; !is_unknown && i < wrapper_count; i++) {
        const char *name = own.strings + own.symbols[wrappers[i].symbol].st_name;
        if (opd_elf_find(object, name, wrappers[i].hash) != NULL) {
            return true;
        }
    }
    return is_unknown;
}

/* Names and types of parameters are the loader's. */
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name, readability-non-const-parameter)
unsigned la_version(unsigned version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    opd_elf_names object;
    *cookie = 0;
    if (!opd_elf_names_of(&object, map)) {
        return LA_FLG_BINDFROM;
    }
    *cookie = (uintptr_t)map;
    if (space != LM_ID_BASE) { /* a routine from here may be looked up in the first, which the wrappers are of */
        *cookie |= ELSEWHERE;
        return LA_FLG_BINDFROM | (may_define_routine(&object) ? LA_FLG_BINDTO : 0u);
    }
    if (port == NULL && object.soname != NULL && opd_elf_is(object.soname, OPD_PRELOAD_SONAME)) {
        meet_recorder(&object);
    }
    if (port != NULL && atomic_load(&port->bind) != NULL && port->pending_count < OPD_AUDIT_PENDING) {
        port->pending[port->pending_count++] = map;
    }
    return LA_FLG_BINDFROM | (may_define_routine(&object) ? LA_FLG_BINDTO : 0u);
}

unsigned la_objclose(uintptr_t *cookie)
{
    for (uint32_t i = 0; port != NULL && i < port->pending_count; i++) {
        if ((uintptr_t)port->pending[i] == *cookie) {
            port->pending[i--] = port->pending[--port->pending_count];
        }
    }
    return 0;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
                       const char *name)
{
    (void)index;
    opd_audit_bind *bind = port != NULL ? atomic_load(&port->bind) : NULL;
    if (bind == NULL || *from == 0 || *to == 0 || (*from & ELSEWHERE) != 0) {
        return symbol->st_value;
    }
    return bind(name, symbol->st_value, (const struct link_map *)*from, (const struct link_map *)(*to & ~ELSEWHERE),
                (*flags & LA_SYMB_DLSYM) != 0);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name, readability-non-const-parameter)
