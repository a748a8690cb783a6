/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug open: hands one file to ui.perfetto.dev. Serves it once on 127.0.0.1:9001, the only plain-http address that the
 * viewer's content policy allows, and ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <opsdebug/bundle.h>

#include "document.h"
#include "phrases.h"
#include "screen.h"

enum { PACKET_TAG = 0x0a, PORT = 9001, PATIENCE_S = 10 };
#define VIEWER "https://ui.perfetto.dev"

typedef struct open_options {
    opd_shared shared;
    const char *path;
    int path_count;
} open_options;

static const struct argp_option options[] = { { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    open_options *o = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        opd_take_argument(state, &o->path, &o->path_count, 1, arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        opd_usage_error(state, "give a bundle or an exported trace");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static opd_status open_file(int *out, off_t *size, const char *path)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return opd_fail(errno == ENOENT ? OPD_E_NOTFOUND : OPD_E_IO, "%s: %s", path, strerror(errno));
    }
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) {
        close(file);
        return opd_fail(OPD_E_IO, "%s: not a file with content; give a bundle or an exported trace", path);
    }
    *out = file;
    *size = info.st_size;
    return OPD_OK;
}

/* Packets of a Perfetto trace from the first byte to the last, or JSON. */
static bool is_trace(int file, off_t size)
{
    uint8_t head[11];
    off_t at = 0;
    ssize_t got = pread(file, head, sizeof head, 0);
    if (got > 0 && (head[0] == '{' || head[0] == '[')) {
        return true;
    }
    while (at < size && (got = pread(file, head, sizeof head, at)) > 1 && head[0] == PACKET_TAG) {
        uint64_t bytes = 0;
        ssize_t i = 1;
        for (; i < got; i++) {
            bytes |= (uint64_t)(head[i] & 127) << (7 * (i - 1));
            if (head[i] < 128) {
                break;
            }
        }
        if (i == got || bytes > (uint64_t)(size - at)) {
            return false;
        }
        at += i + 1 + (off_t)bytes;
    }
    return at == size;
}

/* The viewer is not asked to read what it cannot. */
static opd_status check_file(const char *path, int file, off_t size)
{
    opd_bundle *bundle = NULL;
    opd_status status = opd_bundle_open(&bundle, path);
    if (status == OPD_OK) {
        opd_bundle_close(bundle);
    } else if (status == OPD_E_FORMAT && is_trace(file, size)) {
        status = OPD_OK;
    }
    return status;
}

static opd_status listen_here(int *out)
{
    int one = 1;
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons(PORT),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0) {
        return opd_fail(OPD_E_IO, "socket: %s", strerror(errno));
    }
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4) != 0) {
        int error = errno;
        close(listener);
        return opd_fail(
            OPD_E_IO,
            "127.0.0.1:%d: %s; end the program that uses it (another ops-debug open, trace_processor), or drag the file onto the page",
            PORT, strerror(error));
    }
    *out = listener;
    return OPD_OK;
}

static bool send_all(int peer, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(peer, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Reads up to the blank line that ends a request's head. */
static bool read_head(int peer, char *head, size_t size)
{
    size_t used = 0;
    while (used + 1 < size) {
        ssize_t got = recv(peer, head + used, size - 1 - used, 0);
        if (got <= 0) {
            return false;
        }
        used += (size_t)got;
        head[used] = '\0';
        if (strstr(head, "\r\n\r\n") != NULL) {
            return true;
        }
    }
    return false;
}

/* One request; true when the file was delivered. */
static bool answer(int peer, int file, off_t size)
{
    static const char shared_head[] =
        "Access-Control-Allow-Origin: " VIEWER "\r\nAccess-Control-Allow-Private-Network: true\r\n"
        "Cache-Control: no-cache\r\nConnection: close\r\n";
    char head[8192];
    char reply[1024];
    const struct timeval patience = { PATIENCE_S, 0 };
    setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (!read_head(peer, head, sizeof head)) {
        return false;
    }
    bool is_get = strncmp(head, "GET /", 5) == 0 && strncmp(head, "GET /favicon", 12) != 0;
    if (!is_get) {
        /* A browser asks first whether it may. */
        const char *status = strncmp(head, "OPTIONS ", 8) == 0 ? "204 No Content" : "404 Not Found";
        int length = snprintf(reply, sizeof reply,
                              "HTTP/1.1 %s\r\n%sAccess-Control-Allow-Methods: GET\r\nContent-Length: 0\r\n\r\n", status,
                              shared_head);
        send_all(peer, reply, (size_t)length);
        return false;
    }
    int length = snprintf(reply, sizeof reply,
                          "HTTP/1.1 200 OK\r\n%sContent-Type: application/octet-stream\r\nContent-Length: %lld\r\n\r\n",
                          shared_head, (long long)size);
    off_t position = 0;
    bool is_sent = send_all(peer, reply, (size_t)length);
    while (is_sent && position < size) {
        is_sent = sendfile(peer, file, &position, (size_t)(size - position)) > 0;
    }
    shutdown(peer, SHUT_WR);
    return is_sent;
}

/* A name of letters that need no escaping in a URL; the rest becomes '_'. */
static void url_name(char *text, size_t size, const char *path)
{
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < size; i++) {
        bool is_plain = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", name[i]) != NULL;
        text[i] = is_plain ? name[i] : '_';
    }
    text[i] = '\0';
}

static void announce(const open_options *o)
{
    char name[256];
    char url[512];
    url_name(name, sizeof name, o->path);
    snprintf(url, sizeof url, "%s/#!/?url=http://127.0.0.1:%d/%s", VIEWER, PORT, name);
    if (o->shared.is_json) {
        json_t *document = json_object();
        opd_document_put(document, "url", opd_document_text(url));
        opd_document_print(document, OPD_EXIT_OK);
    } else if (!o->shared.is_quiet) {
        printf("open %s\nwaiting for the page to fetch the file once; Ctrl-C ends\n", url);
    }
    fflush(stdout);
}

static int run(const opd_command *self, int argc, char **argv)
{
    open_options o = { 0 };
    int file = -1;
    int listener = -1;
    off_t size = 0;
    opd_command_parse(self, &o.shared, argc, argv);
    opd_status status = open_file(&file, &size, o.path);
    if (status == OPD_OK) {
        status = check_file(o.path, file, size);
    }
    if (status == OPD_OK) {
        status = listen_here(&listener);
    }
    if (status == OPD_OK) {
        announce(&o);
    }
    bool is_done = false;
    while (status == OPD_OK && !is_done) {
        int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (peer >= 0) {
            is_done = answer(peer, file, size);
            close(peer);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            status = opd_fail(OPD_E_IO, "127.0.0.1:%d: %s", PORT, strerror(errno));
        }
    }
    if (listener >= 0) {
        close(listener);
    }
    if (file >= 0) {
        close(file);
    }
    return status == OPD_OK ? OPD_EXIT_OK : opd_trouble();
}

const opd_command opd_command_open = {
    .name = "open",
    .synopsis = "FILE",
    .summary = "Show a bundle or trace in ui.perfetto.dev",
    .details =
        "Serves FILE once on 127.0.0.1:9001 to the page whose address it prints; the file does not leave the machine.",
    .examples = "  ops-debug open run/solve-4711-1-nan.opsb\n"
                "  ops-debug open trace.pftrace\n",
    .options = options,
    .parse = parse,
    .run = run,
};
