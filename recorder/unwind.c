/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks from a wreck: libdw unwinds by the call frame information of the files that were mapped, over the registers and stack
 * bytes that were kept. Where there is none (assembly kernels), the next word that can be a return address is taken, and the
 * frame is marked as guessed.
 */
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inquest.h"

#define GUESS_WORDS 4096u /* how far up a guess looks */
#define GUESSES     8u    /* in one stack */

struct opd_unwinder {
    Dwfl *dwfl;
    const opd_wreck *wreck;
    const opd_wrecked_thread *thread;      /* being unwound */
    uint64_t registers[OPD_REGISTERS];     /* from which */
    uint64_t pcs[OPD_FRAMES + 1], last_sp; /* stack pointer of the last frame */
    bool is_guess[OPD_FRAMES + 1];
    bool is_exact[OPD_FRAMES + 1]; /* the program counter itself, not a return address */
    uint32_t count;
};

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
    const opd_unwinder *unwinder = context;
    (void)dwfl;
    if (*thread != NULL) {
        return 0;
    }
    *thread = context;
    return (pid_t)unwinder->thread->thread.tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread)
{
    (void)dwfl;
    (void)tid;
    *thread = context;
    return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *context)
{
    const opd_unwinder *unwinder = context;
    uint64_t value;
    (void)dwfl;
    if (!opd_wreck_word(&value, unwinder->thread, address)) {
        return false;
    }
    *word = value;
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
    const opd_unwinder *unwinder = context;
    Dwarf_Word words[OPD_REGISTER_PC + 1];
    for (size_t i = 0; i < OPD_COUNT(words); i++) {
        words[i] = unwinder->registers[i];
    }
    dwfl_thread_state_register_pc(thread, words[OPD_REGISTER_PC]);
    return dwfl_thread_state_registers(thread, 0, OPD_COUNT(words), words);
}

opd_status opd_unwinder_open(opd_unwinder **out, const opd_wreck *wreck)
{
    static const Dwfl_Callbacks files = { .find_elf = dwfl_build_id_find_elf,
                                          .find_debuginfo = dwfl_standard_find_debuginfo,
                                          .section_address = dwfl_offline_section_address };
    static const Dwfl_Thread_Callbacks threads = { .next_thread = next_thread,
                                                   .get_thread = get_thread,
                                                   .memory_read = read_memory,
                                                   .set_initial_registers = set_registers };
    opd_unwinder *unwinder = NULL;
    opd_status status = opd_alloc((void **)&unwinder, sizeof(*unwinder));
    if (status != OPD_OK) {
        return status;
    }
    unwinder->wreck = wreck;
    unwinder->thread = &wreck->threads[0];
    unwinder->dwfl = dwfl_begin(&files);
    if (unwinder->dwfl != NULL) {
        dwfl_report_begin(unwinder->dwfl);
        for (size_t i = 0; i < wreck->object_count; i++) {
            const opd_wrecked_object *object = &wreck->objects[i];
            dwfl_report_elf(unwinder->dwfl, object->path, object->path, -1, object->start, false);
        }
        dwfl_report_end(unwinder->dwfl, NULL, NULL);
    }
    if (unwinder->dwfl == NULL ||
        !dwfl_attach_state(unwinder->dwfl, NULL, (pid_t)wreck->head.tid, &threads, unwinder)) {
        status = opd_fail(OPD_E_UNSUPPORTED, "libdw: %s", dwfl_errmsg(-1));
        opd_unwinder_close(unwinder);
        return status;
    }
    *out = unwinder;
    return OPD_OK;
}

void opd_unwinder_close(opd_unwinder *unwinder)
{
    if (unwinder != NULL) {
        dwfl_end(unwinder->dwfl);
        opd_free(unwinder);
    }
}

static int take_frame(Dwfl_Frame *frame, void *context)
{
    opd_unwinder *unwinder = context;
    Dwarf_Addr pc;
    Dwarf_Word sp;
    bool is_exact;
    if (!dwfl_frame_pc(frame, &pc, &is_exact) || pc == 0) {
        return DWARF_CB_ABORT;
    }
    const opd_wrecked_range *mapping = opd_wreck_mapping(unwinder->wreck, pc);
    bool is_first = unwinder->count == 0;
    if (!is_first && (mapping == NULL || !mapping->is_code)) {
        return DWARF_CB_ABORT;
    }
    if (dwfl_frame_reg(frame, OPD_REGISTER_SP, &sp) == 0) {
        unwinder->last_sp = sp;
    }
    if (unwinder->count < OPD_FRAMES + 1) {
        unwinder->pcs[unwinder->count] = pc;
        unwinder->is_guess[unwinder->count] = false;
        unwinder->is_exact[unwinder->count++] = is_exact;
    }
    return unwinder->count <= OPD_FRAMES ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* Does a call instruction end at an address? Read from the file: code is not kept. source: Intel SDM volume 2, CALL */
static bool follows_call(const opd_wreck *wreck, uint64_t address)
{
    const opd_wrecked_range *mapping = opd_wreck_mapping(wreck, address);
    uint8_t code[7];
    if (mapping == NULL || !mapping->is_code || mapping->object == 0 || address - mapping->start < sizeof(code)) {
        return false;
    }
    int file = open(wreck->objects[mapping->object - 1].path, O_RDONLY | O_CLOEXEC);
    uint64_t place = address - mapping->start + mapping->offset - sizeof(code);
    bool is_read = file >= 0 && pread(file, code, sizeof(code), (off_t)place) == (ssize_t)sizeof(code);
    if (file >= 0) {
        close(file);
    }
    if (!is_read) {
        return false;
    }
    const uint8_t *end = code + sizeof(code);
    return end[-5] == 0xe8                                   /* relative */
           || (end[-6] == 0xff && (end[-5] & 0xf8) == 0x90)  /* register and a 32-bit offset */
           || (end[-6] == 0xff && end[-5] == 0x15)           /* by a table */
           || (end[-3] == 0xff && (end[-2] & 0xf8) == 0x50)  /* register and an 8-bit offset */
           || (end[-2] == 0xff && (end[-1] & 0xf8) == 0xd0)  /* register */
           || (end[-2] == 0xff && (end[-1] & 0xf8) == 0x10); /* by a register */
}

/* The next place on the stack that can be a return address: the registers to go on from. */
static bool guess(opd_unwinder *unwinder)
{
    uint64_t at = unwinder->last_sp & ~(uint64_t)7;
    uint64_t word;
    for (uint32_t i = 0; i < GUESS_WORDS && opd_wreck_word(&word, unwinder->thread, at); i++, at += sizeof(word)) {
        if (follows_call(unwinder->wreck, word)) {
            unwinder->registers[OPD_REGISTER_PC] = word;
            unwinder->registers[OPD_REGISTER_SP] = at + sizeof(word);
            unwinder->last_sp = at + sizeof(word);
            return true;
        }
    }
    return false;
}

static void name_frame(opd_frame *frame, const opd_unwinder *unwinder, uint32_t index)
{
    uint64_t pc = unwinder->pcs[index];
    uint64_t inside = pc - !unwinder->is_exact[index]; /* a call may be the last instruction of its function */
    const opd_wrecked_range *mapping = opd_wreck_mapping(unwinder->wreck, pc);
    *frame = (opd_frame){ .address = pc, .module = mapping != NULL ? mapping->object : 0 };
    Dwfl_Module *module = dwfl_addrmodule(unwinder->dwfl, inside);
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char *name = module != NULL ? dwfl_module_addrinfo(module, inside, &offset, &symbol, NULL, NULL, NULL) : NULL;
    const char *mark = unwinder->is_guess[index] ? " (guessed)" : "";
    if (name != NULL) {
        snprintf(frame->symbol, sizeof(frame->symbol), "%.70s+0x%llx%s", name,
                 (unsigned long long)offset + (pc - inside), mark);
    } else {
        snprintf(frame->symbol, sizeof(frame->symbol), "%s", mark[0] != '\0' ? mark + 1 : "");
    }
}

uint32_t opd_unwind(opd_frame frames[OPD_FRAMES], bool *is_cut, opd_unwinder *unwinder,
                    const opd_wrecked_thread *thread)
{
    unwinder->thread = thread;
    unwinder->count = 0;
    unwinder->last_sp = thread->thread.registers[OPD_REGISTER_SP];
    memcpy(unwinder->registers, thread->thread.registers, sizeof(unwinder->registers));
    bool is_over = unwinder->registers[OPD_REGISTER_PC] == 0 && unwinder->last_sp == 0;
    for (uint32_t guesses = 0; !is_over && unwinder->count <= OPD_FRAMES; guesses++) {
        uint32_t before = unwinder->count;
        bool is_whole = dwfl_getthread_frames(unwinder->dwfl, (pid_t)thread->thread.tid, take_frame, unwinder) == 0;
        if (guesses > 0 && unwinder->count > before) {
            unwinder->is_guess[before] = true;
            unwinder->is_exact[before] = false;
        }
        is_over = is_whole || unwinder->count > OPD_FRAMES || guesses == GUESSES || !guess(unwinder);
    }
    uint32_t count = unwinder->count < OPD_FRAMES ? unwinder->count : OPD_FRAMES;
    *is_cut = unwinder->count > OPD_FRAMES;
    for (uint32_t i = 0; i < count; i++) {
        name_frame(&frames[i], unwinder, i);
    }
    return count;
}
