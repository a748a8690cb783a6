/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorProto, by the field numbers of onnx.proto. Two passes: the first counts what is there and decides, the second fills memory of exactly the size
 * that the first found values for, so that dimensions alone never make an allocation.
 */
#include <stdio.h>
#include <string.h>

#include "onnx_form.h"
#include "wire.h"

enum {
    DIMS = 1,
    DATA_TYPE = 2,
    SEGMENT = 3,
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    STRING_DATA = 6,
    INT64_DATA = 7,
    NAME = 8,
    RAW_DATA = 9,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11,
    EXTERNAL_DATA = 13,
    DATA_LOCATION = 14,
};

typedef struct onnx_type {
    const char *name;
    uint8_t field; /* where values stand that are not raw */
} onnx_type;

/* TensorProto.DataType by its number. Types of under 32 bits, f16 and bf16 as their bits, stand in int32_data. */
static const onnx_type types[] = {
    [1] = { "FLOAT", FLOAT_DATA },         [2] = { "UINT8", INT32_DATA },
    [3] = { "INT8", INT32_DATA },          [4] = { "UINT16", INT32_DATA },
    [5] = { "INT16", INT32_DATA },         [6] = { "INT32", INT32_DATA },
    [7] = { "INT64", INT64_DATA },         [8] = { "STRING", STRING_DATA },
    [9] = { "BOOL", INT32_DATA },          [10] = { "FLOAT16", INT32_DATA },
    [11] = { "DOUBLE", DOUBLE_DATA },      [12] = { "UINT32", UINT64_DATA },
    [13] = { "UINT64", UINT64_DATA },      [14] = { "COMPLEX64", FLOAT_DATA },
    [15] = { "COMPLEX128", DOUBLE_DATA },  [16] = { "BFLOAT16", INT32_DATA },
    [17] = { "FLOAT8E4M3FN", INT32_DATA }, [18] = { "FLOAT8E4M3FNUZ", INT32_DATA },
    [19] = { "FLOAT8E5M2", INT32_DATA },   [20] = { "FLOAT8E5M2FNUZ", INT32_DATA },
    [21] = { "UINT4", INT32_DATA },        [22] = { "INT4", INT32_DATA },
    [23] = { "FLOAT4E2M1", INT32_DATA },
};

static const onnx_type *type_at(int64_t number)
{
    bool is_known = number > 0 && number < (int64_t)OPD_COUNT(types);
    return is_known ? &types[number] : NULL;
}

int onnx_type_number(opd_onnx_text name)
{
    for (int i = 1; i < (int)OPD_COUNT(types); i++) {
        if (opd_onnx_text_is(name, types[i].name)) {
            return i;
        }
    }
    return 0;
}

/* What the first pass found. */
typedef struct survey {
    const onnx_type *type;
    opd_dtype dtype;
    int64_t number; /* of the type */
    int32_t rank;
    int64_t shape[OPD_MAX_RANK];
    bool has_raw, is_external, has_segment;
    const uint8_t *raw;
    size_t raw_size;
    uint64_t values[UINT64_DATA + 1]; /* numbers in each typed field */
    opd_onnx_text name;
} survey;

/* Numbers in a field: one, or as many as the packed bytes hold; false at a wrong or cut off form. */
static bool count_numbers(uint64_t *count, const wire_field *field)
{
    bool is_float = field->number == FLOAT_DATA || field->number == DOUBLE_DATA;
    uint32_t width = field->number == FLOAT_DATA ? 4 : 8;
    uint32_t single = !is_float ? WIRE_VARINT : width == 4 ? WIRE_FIXED32 : WIRE_FIXED64;
    if (field->type == single) {
        *count += 1;
        return true;
    }
    if (field->type != WIRE_BYTES) {
        return false;
    }
    if (is_float) {
        *count += field->size / width;
        return field->size % width == 0;
    }
    uint64_t ends = 0;
    for (size_t i = 0; i < field->size; i++) {
        ends += field->bytes[i] < 0x80;
    }
    *count += ends;
    return field->size == 0 || field->bytes[field->size - 1] < 0x80;
}

static opd_status add_dims(survey *to, const wire_field *field)
{
    size_t at = 0;
    uint64_t value = field->value;
    if (field->type != WIRE_VARINT && field->type != WIRE_BYTES) {
        return opd_fail(OPD_E_FORMAT, "dimensions of a wrong wire type");
    }
    do {
        if (field->type == WIRE_BYTES) {
            if (field->size == 0) {
                return OPD_OK;
            }
            if (!wire_get_varint(&value, field->bytes, field->size, &at)) {
                return opd_fail(OPD_E_FORMAT, "packed dimensions are cut off");
            }
        }
        if (to->rank == OPD_MAX_RANK) {
            return opd_fail(OPD_E_UNSUPPORTED, "more than %d dimensions", OPD_MAX_RANK);
        }
        to->shape[to->rank++] = (int64_t)value;
    } while (field->type == WIRE_BYTES && at < field->size);
    return OPD_OK;
}

static opd_status survey_field(survey *to, const wire_field *field)
{
    switch (field->number) {
    case DIMS:
        return add_dims(to, field);
    case DATA_TYPE:
        to->number = (int64_t)field->value;
        return OPD_OK;
    case SEGMENT:
        to->has_segment = true;
        return OPD_OK;
    case NAME:
        to->name = field->type == WIRE_BYTES ? (opd_onnx_text){ (const char *)field->bytes, field->size } : to->name;
        return OPD_OK;
    case RAW_DATA:
        to->has_raw = field->type == WIRE_BYTES;
        to->raw = field->bytes;
        to->raw_size = field->size;
        return to->has_raw ? OPD_OK : opd_fail(OPD_E_FORMAT, "raw data of a wrong wire type");
    case EXTERNAL_DATA:
        to->is_external = true;
        return OPD_OK;
    case DATA_LOCATION:
        to->is_external |= field->value != 0;
        return OPD_OK;
    case FLOAT_DATA:
    case INT32_DATA:
    case INT64_DATA:
    case DOUBLE_DATA:
    case UINT64_DATA:
        return count_numbers(&to->values[field->number], field)
                   ? OPD_OK
                   : opd_fail(OPD_E_FORMAT, "values (field %u) of a wrong form", field->number);
    default:
        return OPD_OK;
    }
}

static opd_status survey_tensor(survey *out, const uint8_t *bytes, size_t size)
{
    wire_field field;
    size_t at = 0;
    opd_status status = OPD_OK;
    *out = (survey){ .name = { "", 0 } };
    while (status == OPD_OK && wire_next(&field, bytes, size, &at)) {
        status = survey_field(out, &field);
    }
    if (status != OPD_OK) {
        return status;
    }
    if (at < size) {
        return opd_fail(OPD_E_FORMAT, "no ONNX tensor: malformed at byte %zu of %zu", at, size);
    }
    out->type = type_at(out->number);
    out->dtype = opd_dtype_from_onnx(out->number);
    if (out->number == 0) {
        return opd_fail(OPD_E_FORMAT, "no ONNX tensor: it has no element type");
    }
    if (out->type == NULL || out->dtype == OPD_DTYPE_NONE) {
        return opd_fail(OPD_E_UNSUPPORTED, "element type %s is not supported (%lld)",
                        out->type != NULL ? out->type->name : "unknown", (long long)out->number);
    }
    if (out->is_external || out->has_segment) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s", out->is_external ? "its data are in another file" : "it is a segment");
    }
    return OPD_OK;
}

/* Are there exactly the values that the dimensions ask for? */
static opd_status check_values(const survey *found, const opd_tensor *view)
{
    uint64_t count = (uint64_t)opd_tensor_count(view);
    size_t element = opd_dtype_size(view->dtype);
    uint64_t parts = opd_dtype_is_complex(view->dtype) ? 2 : 1;
    uint64_t values = found->values[found->type->field];
    if (found->has_raw && (count > SIZE_MAX / element || found->raw_size != count * element)) {
        return opd_fail(OPD_E_FORMAT, "%zu bytes of raw data for %llu elements of %s", found->raw_size,
                        (unsigned long long)count, opd_dtype_name(view->dtype));
    }
    if (!found->has_raw && (values % parts != 0 || values / parts != count)) {
        return opd_fail(OPD_E_FORMAT, "%llu values for %llu elements of %s", (unsigned long long)(values / parts),
                        (unsigned long long)count, opd_dtype_name(view->dtype));
    }
    return OPD_OK;
}

/* One number of a typed field, as many bytes of it as the type has; little-endian, as the machine. */
static void put_number(uint8_t **to, opd_dtype dtype, uint64_t bits)
{
    size_t size = opd_dtype_is_complex(dtype) ? opd_dtype_size(dtype) / 2 : opd_dtype_size(dtype);
    bits = dtype == OPD_BOOL ? bits != 0 : bits;
    memcpy(*to, &bits, size);
    *to += size;
}

static void put_field(uint8_t **to, opd_dtype dtype, const wire_field *field)
{
    bool is_float = field->number == FLOAT_DATA || field->number == DOUBLE_DATA;
    size_t at = 0;
    uint64_t bits = 0;
    if (field->type != WIRE_BYTES) {
        put_number(to, dtype, field->value);
    } else if (is_float) {
        memcpy(*to, field->bytes, field->size);
        *to += field->size;
    } else {
        while (wire_get_varint(&bits, field->bytes, field->size, &at)) {
            put_number(to, dtype, bits);
        }
    }
}

/* A varint of too many bytes counts in the first pass and is refused in this one. */
static opd_status put_values(uint8_t *memory, uint64_t length, const survey *found, const uint8_t *bytes, size_t size)
{
    wire_field field;
    size_t at = 0;
    uint8_t *to = memory;
    while (wire_next(&field, bytes, size, &at)) {
        if (field.number == found->type->field) {
            put_field(&to, found->dtype, &field);
        }
    }
    return (uint64_t)(to - memory) == length ? OPD_OK : opd_fail(OPD_E_FORMAT, "a value of more than 64 bits");
}

opd_status opd_onnx_tensor_read(opd_onnx_tensor *out, const void *bytes, size_t size)
{
    survey found;
    opd_onnx_tensor tensor = { .name = "" };
    opd_status status = survey_tensor(&found, bytes, size);
    if (status == OPD_OK) {
        status = opd_tensor_contiguous(&tensor.view, found.dtype, found.rank, found.shape, NULL);
    }
    if (status == OPD_OK) {
        status = check_values(&found, &tensor.view);
    }
    uint64_t length = status == OPD_OK ? opd_tensor_packed_bytes(&tensor.view) : 0;
    if (status == OPD_OK) {
        status = opd_alloc(&tensor.memory, (size_t)length);
    }
    if (status != OPD_OK) {
        return status;
    }
    if (!found.has_raw) {
        status = put_values(tensor.memory, length, &found, bytes, size);
    } else if (length > 0) {
        memcpy(tensor.memory, found.raw, (size_t)length);
    }
    if (status != OPD_OK) {
        opd_free(tensor.memory);
        return status;
    }
    uint8_t *truth = tensor.memory;
    for (uint64_t i = 0; found.dtype == OPD_BOOL && i < length; i++) {
        truth[i] = truth[i] != 0;
    }
    memcpy(tensor.name, found.name.at, found.name.size < sizeof tensor.name ? found.name.size : sizeof tensor.name - 1);
    tensor.view.data = tensor.memory;
    tensor.view.storage = tensor.memory;
    tensor.view.storage_bytes = length;
    *out = tensor;
    return OPD_OK;
}

opd_status opd_onnx_tensor_open(opd_onnx_tensor *out, const char *path)
{
    opd_mapping mapping;
    opd_status status = opd_mapping_open(&mapping, path);
    if (status != OPD_OK) {
        return status;
    }
    status = opd_onnx_tensor_read(out, mapping.bytes, mapping.size);
    opd_mapping_close(&mapping);
    return status == OPD_OK ? status : opd_fail_in(status, "%s", path);
}

void opd_onnx_tensor_done(opd_onnx_tensor *tensor)
{
    if (tensor != NULL) {
        opd_free(tensor->memory);
        *tensor = (opd_onnx_tensor){ .name = "" };
    }
}
