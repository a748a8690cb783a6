/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The growing byte buffer with a maximum. Growth doubles, capped by the limit; the first failure sticks.
 */
#include <opsdebug/memory.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_CAPACITY 256

void opd_buffer_init(opd_buffer *buffer, size_t limit)
{
    *buffer = (opd_buffer){ .limit = limit };
}

void opd_buffer_done(opd_buffer *buffer)
{
    if (buffer == NULL) {
        return;
    }
    opd_free(buffer->bytes);
    *buffer = (opd_buffer){ .limit = buffer->limit };
}

uint8_t *opd_buffer_reserve(opd_buffer *buffer, size_t size)
{
    if (buffer->status != OPD_OK) {
        return NULL;
    }
    size_t needed;
    if (!opd_add_size(&needed, buffer->size, size) || needed > buffer->limit) {
        buffer->status = opd_fail(OPD_E_LIMIT, "%zu bytes more than the %zu in use pass the buffer's limit of %zu",
                                  size, buffer->size, buffer->limit);
        return NULL;
    }
    if (needed > buffer->capacity || buffer->bytes == NULL) {
        size_t capacity = buffer->capacity <= buffer->limit / 2 ? buffer->capacity * 2 : buffer->limit;
        if (capacity < needed) {
            capacity = needed;
        }
        if (capacity < FIRST_CAPACITY && buffer->limit >= FIRST_CAPACITY) {
            capacity = FIRST_CAPACITY;
        }
        void *bytes = buffer->bytes;
        buffer->status = opd_grow(&bytes, capacity, 1);
        if (buffer->status != OPD_OK) {
            return NULL;
        }
        buffer->bytes = bytes;
        buffer->capacity = capacity;
    }
    uint8_t *room = buffer->bytes + buffer->size;
    buffer->size = needed;
    return room;
}

void opd_buffer_append(opd_buffer *buffer, const void *bytes, size_t size)
{
    uint8_t *room = opd_buffer_reserve(buffer, size);
    if (room != NULL && size > 0) {
        memcpy(room, bytes, size);
    }
}

void opd_buffer_print(opd_buffer *buffer, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    va_list again;
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    /* One byte more for the end that vsnprintf writes; it is taken back, so the text is not terminated. */
    uint8_t *room = length < 0 ? NULL : opd_buffer_reserve(buffer, (size_t)length + 1);
    if (room != NULL) {
        (void)vsnprintf((char *)room, (size_t)length + 1, format, again);
        buffer->size--;
    } else if (length < 0 && buffer->status == OPD_OK) {
        buffer->status = opd_fail(OPD_E_INVALID, "the text cannot be formatted");
    }
    va_end(again);
}
