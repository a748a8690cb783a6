/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two standard streams behind a filter. Our own sequences come as marks: a control character, a number that is random in each
 * process, and a letter that says which.
 */
#include "outlet.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <opsdebug/memory.h>

#define PIECE     4096u
#define MARK_SIZE 18u
#define MARK_TEXT "\033%016llx%c"

static const char *const sequences[] = {
#define OPD_X(name, sequence) [OPD_PAINT_##name] = (sequence),
    OPD_PAINT_LIST(OPD_X)
#undef OPD_X
};
/* "" when there is no random number to be had: no colours then. */
static char marks[OPD_COUNT(sequences)][MARK_SIZE + 1];

typedef struct outlet {
    int fd;
    bool is_terminal;
    int continuation;     /* bytes to come of a character */
    char held[MARK_SIZE]; /* the start of what only the next write can tell */
    size_t held_size;
} outlet;

static outlet outlets[] = { { .fd = STDOUT_FILENO }, { .fd = STDERR_FILENO } };

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* Length of the mark that starts here; 0 = none does; size + 1 = it may, with more bytes. */
static size_t match_mark(const outlet *of, const char *bytes, size_t size)
{
    if (!of->is_terminal || marks[0][0] == '\0' ||
        memcmp(bytes, marks[0], size < MARK_SIZE - 1 ? size : MARK_SIZE - 1) != 0) {
        return 0;
    }
    return size < MARK_SIZE ? size + 1 : MARK_SIZE;
}

static bool is_control(unsigned char byte)
{
    return (byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f;
}

/* A byte of a character of more than one byte, or one by itself; 0x80 to 0x9f alone are control characters of older sets. */
static char plain(outlet *of, unsigned char byte)
{
    bool is_inside = of->continuation > 0 && (byte & 0xc0) == 0x80;
    if (is_inside) {
        of->continuation--;
        return (char)byte;
    }
    of->continuation = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
    return is_control(byte) || (byte >= 0x80 && byte <= 0x9f) ? '?' : (char)byte;
}

/* Bytes taken from the front of bytes into out, at least one; 0: what is there must wait for more. */
static size_t take(outlet *of, char *out, size_t *used, const char *bytes, size_t size)
{
    unsigned char first = (unsigned char)bytes[0];
    size_t length = is_control(first) ? match_mark(of, bytes, size) : 0;
    if (length > size || (first == 0xc2 && size == 1)) {
        return 0;
    }
    if (length > 0) {
        size_t which = (size_t)(bytes[MARK_SIZE - 1] - 'A');
        const char *sequence = which < OPD_COUNT(sequences) ? sequences[which] : "";
        for (; *sequence != '\0'; sequence++) {
            out[(*used)++] = *sequence;
        }
        of->continuation = 0;
        return length;
    }
    if (first == 0xc2 && (unsigned char)bytes[1] >= 0x80 && (unsigned char)bytes[1] <= 0x9f) {
        out[(*used)++] = '?';
        of->continuation = 0;
        return 2;
    }
    out[(*used)++] = plain(of, first);
    return 1;
}

static ssize_t pass(void *cookie, const char *bytes, size_t size)
{
    outlet *of = cookie;
    size_t done = 0;
    while (done < size) {
        char in[MARK_SIZE + PIECE];
        char out[MARK_SIZE + PIECE];
        size_t piece = size - done < PIECE ? size - done : PIECE;
        size_t used = 0;
        size_t at = 0;
        size_t count = of->held_size + piece;
        memcpy(in, of->held, of->held_size);
        memcpy(in + of->held_size, bytes + done, piece);
        for (size_t step = 1; at < count && step > 0; at += step) {
            step = take(of, out, &used, in + at, count - at);
        }
        of->held_size = count - at;
        memcpy(of->held, in + at, of->held_size);
        if (!write_all(of->fd, out, used)) {
            return 0;
        }
        done += piece;
    }
    return (ssize_t)size;
}

static FILE *open_on(outlet *of, int mode)
{
    FILE *stream = fopencookie(of, "w", (cookie_io_functions_t){ .write = pass });
    of->is_terminal = stream != NULL && isatty(of->fd) == 1;
    if (stream != NULL) {
        setvbuf(stream, NULL, of->is_terminal && mode == _IOFBF ? _IOLBF : mode, BUFSIZ);
    }
    return stream;
}

static void make_marks(void)
{
    unsigned long long number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number) {
        return;
    }
    for (size_t i = 0; i < OPD_COUNT(sequences); i++) {
        snprintf(marks[i], sizeof marks[i], MARK_TEXT, number, (char)('A' + i));
    }
}

const char *opd_outlet_mark(opd_paint paint)
{
    return marks[paint];
}

void opd_outlet_open(void)
{
    make_marks();
    FILE *out = open_on(&outlets[0], _IOFBF);
    FILE *err = open_on(&outlets[1], _IONBF);
    stdout = out != NULL ? out : stdout;
    stderr = err != NULL ? err : stderr;
}

bool opd_outlet_is_terminal(const FILE *to)
{
    return outlets[to == stderr].is_terminal;
}
