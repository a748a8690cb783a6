# SPDX-License-Identifier: Apache-2.0
"""
Calls of ATen operators: how the recorder lays them out in memory, what PyTorch's registry says of an operator, and (serve) running a recorded call in
the replaying worker, on its operands where they lie.
"""
import ast
import ctypes

MAX_OPERANDS, MAX_SYMBOLS, MAX_RANK, MAX_INTS = 32, 40, 8, 8
MAX_ATTRS = 12 + MAX_OPERANDS
ROLE_IN, ROLE_OUT, ROLE_INOUT = 1, 2, 3
FRESH, STATE, ABSENT = 1 << 7, 1 << 8, 1 << 6  # OPD_OPERAND_...
VIEW = 1 << 10  # OPD_CALL_VIEW
INT, REAL, COMPLEX, TEXT, INTS = 1, 2, 3, 5, 6  # OPD_VALUE_...


class Value(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 32), ("kind", ctypes.c_int), ("i", ctypes.c_int64), ("re", ctypes.c_double), ("im", ctypes.c_double),
                ("text", ctypes.c_int64 * MAX_INTS)]


class Mask(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint8 * 4)] + [(name, ctypes.c_int64) for name in ("kl", "ku", "rows", "cols")]


class View(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * MAX_RANK),
                ("stride", ctypes.c_int64 * MAX_RANK), ("mask", Mask), ("storage", ctypes.c_void_p), ("storage_bytes", ctypes.c_uint64)]


class Operand(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 32), ("role", ctypes.c_int), ("flags", ctypes.c_uint32), ("view", View), ("address", ctypes.c_uint64),
                ("digests", ctypes.c_uint8 * 32), ("health", (ctypes.c_uint64 * 11) * 2)]


class Call(ctypes.Structure):
    _fields_ = [("op", ctypes.c_void_p), ("domain", ctypes.c_char * 32), ("name", ctypes.c_char * 32), ("symbol", ctypes.c_char * 48),
                ("dtype", ctypes.c_int), ("flags", ctypes.c_uint32), ("bad_arg", ctypes.c_int32), ("pid", ctypes.c_uint32), ("thread", ctypes.c_uint32),
                ("number", ctypes.c_uint64), ("op_id", ctypes.c_uint64), ("depth", ctypes.c_uint32), ("provider", ctypes.c_uint32),
                ("caller", ctypes.c_uint32), ("times", ctypes.c_uint64 * 5), ("seed", ctypes.c_uint64), ("mxcsr", ctypes.c_uint32),
                ("symbol_count", ctypes.c_int32), ("symbols", Value * MAX_SYMBOLS), ("attr_count", ctypes.c_int32), ("attrs", Value * MAX_ATTRS),
                ("operand_count", ctypes.c_int32), ("operands", Operand * MAX_OPERANDS)]


def dtype_numbers(torch):
    return {torch.float16: 1, torch.bfloat16: 2, torch.float32: 3, torch.float64: 4, torch.complex64: 5, torch.complex128: 6, torch.int8: 7,
            torch.int16: 8, torch.int32: 9, torch.int64: 10, torch.uint8: 11, torch.bool: 15}


# Operands that are written although the schema does not say so.
WRITTEN = {"native_batch_norm": ("running_mean", "running_var"), "cudnn_batch_norm": ("running_mean", "running_var"),
           "_fused_moving_avg_obs_fq_helper": ("running_min", "running_max", "scale", "zero_point")}
# Operators whose result holds what was in memory before.
UNFILLED = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_empty_affine_quantized", "resize_", "set_")


class Schema:
    """What the registry says of one overload."""

    def __init__(self, torch, func):
        schema = func._schema
        self.space, _, self.name = schema.name.partition("::")
        overload = schema.overload_name
        self.symbol = f"{self.name}.{overload or 'default'}"
        self.title = f"{self.name}.{overload}" if overload else self.name
        self.arguments = schema.arguments
        self.types = {argument.name: str(argument.type) for argument in schema.arguments}
        written = WRITTEN.get(self.name, ())
        self.roles = {}
        for argument in schema.arguments:
            is_written = argument.name in written or (argument.alias_info is not None and argument.alias_info.is_write)
            self.roles[argument.name] = (ROLE_OUT if argument.is_out else ROLE_INOUT) if is_written else ROLE_IN
        results = [result for result in schema.returns if "Tensor" in str(result.type)]
        self.fresh = [i for i, result in enumerate(schema.returns) if "Tensor" in str(result.type) and result.alias_info is None]
        shared = [result for result in results if result.alias_info is not None and not result.alias_info.is_write]
        self.is_single = len(schema.returns) == 1
        self.is_view = self.name in UNFILLED or (len(shared) > 0 and not self.fresh)
        self.is_random = torch.Tag.nondeterministic_seeded in func.tags


# ---------------------------------------------------------------------------------------------------------------- replaying

E_NOTFOUND, E_INVALID, E_UNSUPPORTED, E_CHILD = 6, 7, 8, 11  # opd_status


class Meeting(ctypes.Structure):
    """What the worker and this file share."""
    _fields_ = [("call", ctypes.c_void_p), ("threads", ctypes.c_int32), ("status", ctypes.c_int32), ("run", ctypes.c_void_p),
                ("text", ctypes.c_char * 384), ("library", ctypes.c_void_p), ("version", ctypes.c_char * 32)]


class Refused(Exception):
    """A call that cannot be run; status says of which kind."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def loaded_at(name):
    """Where the loaded object of that name begins."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        return next((int(line.split("-")[0], 16) for line in maps if name in line), 0)


def find_operator(torch, symbol):
    name, _, overload = symbol.rpartition(".")
    packet = getattr(torch.ops.aten, name, None)
    func = getattr(packet, overload, None) if packet is not None else None
    if func is None:
        raise Refused(E_UNSUPPORTED, f"PyTorch {torch.__version__} has no operator aten::{symbol}")
    return func


def tensor_at(torch, dtypes, operand):
    """A tensor over the operand's memory."""
    view = operand.view
    shape, stride = list(view.shape[:view.rank]), list(view.stride[:view.rank])
    dtype = dtypes.get(view.dtype)
    if dtype is None:
        raise Refused(E_UNSUPPORTED, f"operand {operand.name.decode()} has a dtype that PyTorch has not")
    if 0 in shape:
        return torch.empty(shape, dtype=dtype)
    if not view.data:
        raise Refused(E_UNSUPPORTED, f"the content of {operand.name.decode()} was not recorded")
    count = 1 + sum((size - 1) * step for size, step in zip(shape, stride))
    memory = (ctypes.c_uint8 * (count * torch.empty(0, dtype=dtype).element_size())).from_address(view.data)
    return torch.frombuffer(memory, dtype=dtype).as_strided(shape, stride)


def value_of(torch, attr, schema_type):
    """An attribute as the operator takes it."""
    if attr.kind == 0:
        return None
    if attr.kind == INT:
        return bool(attr.i) if "bool" in schema_type else attr.i
    if attr.kind == REAL:
        return attr.re
    if attr.kind == COMPLEX:
        return complex(attr.re, attr.im)
    if attr.kind == INTS:
        items = list(attr.text[:attr.i])
        return [bool(item) for item in items] if "bool" in schema_type else items
    text = ctypes.string_at(ctypes.addressof(attr.text), 64).split(b"\0")[0].decode()
    if text.endswith("..."):
        raise Refused(E_UNSUPPORTED, f"the attribute {attr.name.decode()} was too long to be recorded")
    if text.startswith("torch."):
        return getattr(torch, text[6:])
    if "Device" in schema_type:
        return torch.device(text)
    if text in ("True", "False") or text.startswith("["):
        return ast.literal_eval(text)
    return text


def arguments_of(torch, func, call, tensors):
    """Positional and named arguments of the recorded call, by its schema."""
    attrs = {attr.name.decode(): attr for attr in call.attrs[:call.attr_count]}
    if "left_out" in attrs:
        raise Refused(E_UNSUPPORTED, f"{value_of(torch, attrs['left_out'], 'str')} of the call found no place in its record")
    positional, named = [], {}
    for argument in func._schema.arguments:
        name, kind = argument.name, str(argument.type)
        if name in attrs:
            value = value_of(torch, attrs[name], kind)
        elif name in tensors and name != "generator":
            value = tensors[name]
        elif "List" in kind and f"{name}0" in tensors:
            value = []
            while f"{name}{len(value)}" in tensors:
                value.append(tensors[f"{name}{len(value)}"])
        elif name == "generator" and name in tensors:
            value = torch.Generator()
            value.set_state(tensors[name].clone())
        elif argument.has_default_value():
            if argument.kwarg_only:
                continue
            value = argument.default_value
        else:
            raise Refused(E_UNSUPPORTED, f"the argument {name} is not in the record")
        if argument.kwarg_only:
            named[name] = value
        else:
            positional.append(value)
    return positional, named


def compute(torch, dtypes, func, schema, call):
    """Runs the operator on the operands in place; results of their own are copied to their operands."""
    operands = call.operands[:call.operand_count]
    tensors = {operand.name.decode(): None if operand.flags & ABSENT else tensor_at(torch, dtypes, operand)
               for operand in operands if not operand.flags & FRESH}
    positional, named = arguments_of(torch, func, call, tensors)
    if "generator" in tensors and "generator" not in named and "generator" not in schema.types:
        torch.default_generator.set_state(tensors["generator"].clone())
    with torch.no_grad():
        try:
            out = func(*positional, **named)
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            raise Refused(E_INVALID, f"aten::{schema.symbol} refuses the call: {str(error).splitlines()[0]}") from None
        results = []
        for i in schema.fresh:
            item = out if schema.is_single else out[i]
            results.extend(item if isinstance(item, (list, tuple)) else [item])
        places = [operand for operand in operands if operand.flags & FRESH]
        for operand, result in zip(places, results):
            if operand.flags & ABSENT:
                continue
            target = tensor_at(torch, dtypes, operand)
            if result is None or result.shape != target.shape:
                raise Refused(E_INVALID, f"{operand.name.decode()} has another shape: {None if result is None else list(result.shape)}")
            target.copy_(result)


def load(address):
    """In the replaying worker: loads PyTorch, once."""
    meeting = Meeting.from_address(address)
    try:
        import torch  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        meeting.status = 0
    except ImportError:
        meeting.status = E_NOTFOUND
        meeting.text = b"the python3 of this system has no PyTorch; apt-get install python3-torch"


def serve(address):
    """Makes ready to run the call whose Meeting lies at address, again and again."""
    import torch  # pylint: disable=import-outside-toplevel
    meeting = Meeting.from_address(address)
    try:
        if meeting.threads > 0:
            torch.set_num_threads(meeting.threads)
        meeting.threads = torch.get_num_threads()
        meeting.version = f"torch {torch.__version__}".encode()[:31]
        meeting.library = loaded_at("libtorch_cpu")
        dtypes = {number: dtype for dtype, number in dtype_numbers(torch).items()}
        func = find_operator(torch, Call.from_address(meeting.call).symbol.decode())
        schema = Schema(torch, func)

        def run():
            try:
                compute(torch, dtypes, func, schema, Call.from_address(meeting.call))
                return 0
            except Exception as error:
                meeting.status = getattr(error, "status", E_CHILD)
                meeting.text = str(error).encode()[:383]
                return 1
        serve.kept = ctypes.CFUNCTYPE(ctypes.c_int)(run)
        meeting.run = ctypes.cast(serve.kept, ctypes.c_void_p)
        meeting.status = 0
    except Exception as error:
        meeting.status = getattr(error, "status", E_CHILD)
        meeting.text = str(error).encode()[:383]
