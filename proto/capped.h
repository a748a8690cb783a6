/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf-c unpacking of verified but hostile bytes under a cap on memory.
 */
#ifndef OPD_PROTO_CAPPED_H
#define OPD_PROTO_CAPPED_H

#include <string.h>

#include <protobuf-c/protobuf-c.h>

#include <opsdebug/status.h>

/* Live bytes that unpacking one record may take. A legal record of 1 MiB takes at most about a third. */
#define CAPPED_LIMIT ((size_t)24 << 20)

/*
 * Unpacks bytes as a message of type; *out is freed with capped_free. memory: at most CAPPED_LIMIT live.
 * errors: E_LIMIT over the cap; E_NOMEM; E_FORMAT not such a message.
 */
opd_status capped_unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                         size_t size);
void capped_free(ProtobufCMessage *message);

/* For packing: bytes that protobuf-c only reads, though its struct says otherwise. */
static inline ProtobufCBinaryData capped_borrow(const void *bytes, size_t size)
{
    ProtobufCBinaryData data = { .len = size };

    memcpy(&data.data, &bytes, sizeof(bytes));
    return data;
}

#endif
