/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bindings as the audit shim reports them. Called by the loader, in places with its lock held and in others (a lazy binding
 * in a signal handler) with nothing: so no lock of ours, no allocation, and the loader is asked only inside a dlsym.
 */
#include "audit.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include <opsdebug/memory.h>
#include <opsdebug/status.h>

#include "audit_port.h"
#include "elf_names.h"
#include "here.h"
#include "interpose.h"
#include "modules.h"

#define STUBS 2048u /* as in the assembly below */

OPD_PUBLIC opd_audit_port opd_audit_here;
OPD_PUBLIC OPD_WRAPPER void opd_audit_marker(void);
__attribute__((visibility("hidden"))) opd_binding opd_bindings[STUBS];
static _Atomic uint32_t bindings_used;
static const struct link_map *own_map;
static opd_elf_names own;

void opd_audit_marker(void)
{
}

#if defined(__x86_64__)
/*
 * Stub i leaves the address of binding i in opd_thread.given, for the wrapper to take, and jumps to the wrapper. A signal in
 * between whose handler calls a routine takes it instead: the wrapper checks whose it is, and without one asks by caller.
 */
_Static_assert(STUBS == 2048, "as the assembly has it");
_Static_assert(offsetof(opd_thread_words, given) == 24 && sizeof(opd_binding) == 16, "as the assembly has it");
extern const uint8_t opd_stubs[STUBS][16];
__asm__(".pushsection .text\n"
        ".hidden opd_stubs\n.globl opd_stubs\n.type opd_stubs, @function\n.balign 16\n"
        "opd_stubs:\n.cfi_startproc\n"
        ".set opd_stub_index, 0\n"
        ".rept 2048\n"
        "endbr64\n"
        "leaq opd_bindings+opd_stub_index*16(%rip), %r11\n"
        "jmp opd_stub_enter\n"
        ".balign 16\n"
        ".set opd_stub_index, opd_stub_index+1\n"
        ".endr\n"
        "opd_stub_enter:\n"
        "movq opd_thread@gottpoff(%rip), %r10\n"
        "movq %r11, %fs:24(%r10)\n"
        "jmp *(%r11)\n"
        ".cfi_endproc\n.size opd_stubs, .-opd_stubs\n.popsection\n");
#else
static const uint8_t opd_stubs[STUBS][16]; /* the shim is not built here */
#endif

bool opd_audit_is_active(void)
{
    return atomic_load(&opd_audit_here.is_audited) != 0;
}

const void *opd_audit_wrapper(const char *name)
{
    const ElfW(Sym) *symbol = opd_elf_find(&own, name, opd_elf_hash(name));
    const ElfW(Sym) *marker = opd_elf_find(&own, OPD_AUDIT_MARKER, opd_elf_hash(OPD_AUDIT_MARKER));
    bool is_wrapper = symbol != NULL && marker != NULL && symbol != marker && symbol->st_shndx == marker->st_shndx;
    return is_wrapper ? opd_elf_address(own.base, own.base + symbol->st_value) : NULL;
}

void *opd_audit_stub(const void *wrapper, void *function)
{
    uint32_t count = atomic_load(&bindings_used);
    for (uint32_t i = 0; i < count && i < STUBS; i++) {
        if (atomic_load(&opd_bindings[i].function) == function && opd_bindings[i].wrapper == wrapper) {
            return (void *)(uintptr_t)opd_stubs[i];
        }
    }
    count = count < STUBS ? atomic_fetch_add(&bindings_used, 1) : count;
    if (count >= STUBS) {
        return NULL;
    }
    opd_bindings[count].wrapper = wrapper;
    atomic_store(&opd_bindings[count].function, function);
    return (void *)(uintptr_t)opd_stubs[count];
}

/* What a lookup that found our wrapper would have found without us; NULL = nothing. */
static void *find_behind(const char *name, const struct link_map *from)
{
    void *function = dlsym(RTLD_NEXT, name);
    function = function != NULL ? function : opd_find_locally(name, from);
    dlerror(); /* the lookup that did not find it is no error of the program's */
    return function;
}

/*
 * Ends the dlsym that found nothing but us as if we were not there. Returns where this C library has no way to. The loader leaves
 * it by a jump that a sanitizer does not see: what it had marked of this frame would stay so.
 */
__attribute__((noinline, no_sanitize_address)) static void fail_lookup(const char *name)
{
    char text[128];
    union {
        void *object;
        void (*function)(int code, const char *object, const char *occasion, const char *text);
    } signal_error = { .object = dlsym(RTLD_DEFAULT, "_dl_signal_error") };
    dlerror();
    if (signal_error.object != NULL) {
        snprintf(text, sizeof(text), "undefined symbol: %s", name);
        signal_error.function(0, program_invocation_name, NULL, text);
    }
}

static void look_at_tables(void)
{
    opd_audit_port *port = &opd_audit_here;
    while (port->pending_count > 0) {
        const struct link_map *map = port->pending[--port->pending_count];
        if (opd_here_is_quiet == 0) {
            opd_audit_tables(map);
        }
    }
}

static uintptr_t bind(const char *name, uintptr_t value, const struct link_map *from, const struct link_map *to,
                      bool is_dlsym)
{
    if (from == own_map) {
        return value;
    }
    if (is_dlsym) { /* under the loader's lock, with no object half loaded */
        look_at_tables();
    }
    const void *wrapper = opd_audit_wrapper(name);
    void *function = (void *)value; // NOLINT(performance-no-int-to-ptr)
    if (wrapper == NULL || (to == own_map && !is_dlsym)) {
        return value; /* by caller, when it is called: the same answer */
    }
    if (to == own_map && (function = find_behind(name, from)) == NULL) {
        fail_lookup(name);
        return value;
    }
    void *stub = opd_audit_stub(wrapper, function);
    return stub != NULL ? (uintptr_t)stub : value;
}

void opd_audit_start(void)
{
    struct dl_find_object object;
    if (!opd_audit_is_active() || !opd_module_find(&object, &opd_audit_here) ||
        !opd_elf_names_of(&own, object.dlfo_link_map)) {
        return;
    }
    own_map = object.dlfo_link_map;
    atomic_store(&opd_audit_here.bind, bind);
}
