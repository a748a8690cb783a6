# SPDX-License-Identifier: Apache-2.0
"""
ATen operators of a PyTorch program as calls of the recorder, by its C API and ctypes: nothing is built, the program is not changed.

`ops-debug record --torch` puts this folder first in PYTHONPATH; sitecustomize.py beside this file calls prepare(), and once the program imports PyTorch a
TorchDispatchMode records every operator. Whatever goes wrong in here costs the recording, never the program. By hand: `import opsdebug_torch; opsdebug_torch.start()` in a program that has loaded libopsdebug-record.so.

An operator's overload and the types of its arguments choose a plan: a function made for them, which does no more than a key of shapes, one pack of addresses
and two calls into C. What a key stands for (the form: names, views, attributes) is described once.
"""
import ctypes
import functools
import gc
import importlib.util
import os
import struct
import sys
import threading
import traceback

from opsdebug_aten import (ABSENT, COMPLEX, FRESH, INT, INTS, MAX_ATTRS, MAX_INTS, MAX_OPERANDS, MAX_RANK, REAL, ROLE_IN, ROLE_OUT, STATE, TEXT, VIEW,
                           Call, Operand, Schema, Value, View, dtype_numbers, loaded_at)

KNOWN = "1.13"  # the versions of PyTorch whose dispatch modes this was written for
ENTRIES = 1024  # described keys that are kept
GENERATORS = 4  # of NumPy that are watched, beside its global one
NOTHING = -1


def say(text):
    print(f"ops-debug: {text}", file=sys.stderr, flush=True)


class Library:
    """The C API of the recorder in this process. The interpreter lock stays held: a call takes less than giving it back would."""

    def __init__(self):
        own = ctypes.PyDLL(None)
        sizes = (ctypes.c_uint32 * 4)()
        own.opd_record_layout(sizes)
        if list(sizes) != [ctypes.sizeof(kind) for kind in (Call, Operand, Value, View)]:
            raise OSError("the recorder is of another build than opsdebug_torch.py")
        self.form, self.begin, self.end, self.note = (own.opd_record_form, own.opd_record_begin_as, own.opd_record_end_as, own.opd_record_note_as)
        self.provider = own.opd_record_provider
        self.provider.argtypes, self.provider.restype = [ctypes.c_void_p, ctypes.c_int32], ctypes.c_uint32
        self.push, self.pop, self.generator, self.watch = (own.opd_record_range_push, own.opd_record_range_pop, own.opd_record_generator,
                                                           own.opd_record_watch)
        pointer, word = ctypes.c_void_p, ctypes.c_uint64
        self.form.argtypes, self.form.restype = [pointer], ctypes.c_uint32
        self.begin.argtypes, self.begin.restype = [ctypes.c_uint32, pointer, pointer], word
        self.end.argtypes, self.end.restype = [word, ctypes.c_uint32, pointer, pointer, ctypes.c_int], None
        self.note.argtypes, self.note.restype = [ctypes.c_uint32, pointer, pointer], None
        self.push.argtypes, self.push.restype, self.pop.restype = [ctypes.c_char_p], None, None
        self.generator.argtypes, self.generator.restype = [ctypes.c_char_p, word], None
        self.watch.argtypes, self.watch.restype = [ctypes.c_char_p, pointer, ctypes.c_uint32], ctypes.c_bool


# --------------------------------------------------------------------------------------------------------------- describing

def kind_of(schema_type, value):
    """How an attribute is kept: i, d (a word of its own), else k (in the key)."""
    if isinstance(value, bool):
        return "q" if schema_type in ("bool", "Optional[bool]") else "k"
    if isinstance(value, int):
        return "d" if schema_type in ("float", "Optional[float]") else "q"
    return "d" if isinstance(value, float) else "k"


def put_value(slot, name, value, schema_type):
    """An attribute; numbers of their own words get only their kind."""
    slot.name = name.encode()[:31]
    kind = kind_of(schema_type, value)
    if value is None:
        slot.kind = 0
    elif kind == "q":
        slot.kind = INT
    elif kind == "d":
        slot.kind = REAL
    elif isinstance(value, complex):
        slot.kind, slot.re, slot.im = COMPLEX, value.real, value.imag
    elif isinstance(value, (list, tuple)) and len(value) <= MAX_INTS and all(isinstance(item, int) for item in value):
        slot.kind, slot.i = INTS, len(value)
        for i, item in enumerate(value):
            slot.text[i] = int(item)
    else:
        text = str(list(value) if isinstance(value, tuple) else value).encode()
        slot.kind = TEXT
        ctypes.memmove(slot.text, (text if len(text) < 64 else text[:60] + b"...").ljust(64, b"\0"), 64)


def put_view(operand, tensor, numbers):
    operand.flags &= ~ABSENT
    view = operand.view
    view.dtype = numbers.get(tensor.dtype, 11)
    view.rank = min(tensor.dim(), MAX_RANK)
    for i, (size, stride) in enumerate(zip(tensor.shape[:MAX_RANK], tensor.stride()[:MAX_RANK])):
        view.shape[i], view.stride[i] = size, stride


class Entry:
    """A key as the recorder has it: the described call, its form, the buffer of its words."""

    def __init__(self, recorder, schema, arguments, state):
        """arguments: (name, value) in the order of the schema; state: of the generator, or None."""
        self.call = call = Call()
        self.library, self.numbers, self.schema = recorder.library, recorder.numbers, schema
        call.domain = (schema.space if schema.space == "aten" else f"torch:{schema.space}").encode()[:31]
        call.name, call.symbol = schema.title.encode()[:31], schema.symbol.encode()[:47]
        call.flags, call.provider = VIEW if schema.is_view else 0, recorder.provider
        tensor = recorder.torch.Tensor
        words, left_out = "", 0
        for name, value in arguments:
            if isinstance(value, tensor):
                left_out += not self.add(name, schema.roles[name], value)
            elif isinstance(value, (list, tuple)) and "Tensor" in schema.types[name]:
                left_out += sum(not self.add(f"{name}{i}", schema.roles[name], item) for i, item in enumerate(value))
            elif not isinstance(value, recorder.torch.Generator):
                if call.attr_count == MAX_ATTRS - 1:
                    left_out += 1
                    continue
                put_value(call.attrs[call.attr_count], name, value, schema.types[name])
                words += kind_of(schema.types[name], value).replace("k", "")
                call.attr_count += 1
        if state is not None:
            left_out += not self.add("generator", ROLE_IN, state, STATE)
        if left_out > 0:
            put_value(call.attrs[call.attr_count], "left_out", f"{left_out} arguments", "str")
            call.attr_count += 1
        self.inputs = call.operand_count
        for i in range(len(schema.fresh)):
            self.add("result" if len(schema.fresh) == 1 else f"result{i}", ROLE_OUT, None, FRESH)
        self.tail = words
        self.outputs = [None] * (call.operand_count - self.inputs)  # (shape, strides, dtype) as they are in the form
        self.settle()

    def add(self, name, role, value, flags=0):
        call = self.call
        if call.operand_count == MAX_OPERANDS:
            return False
        operand = call.operands[call.operand_count]
        operand.name, operand.role, operand.flags = name.encode()[:31], role, flags
        if value is not None:
            put_view(operand, value, self.numbers)
            if call.dtype == 0 and flags == 0:
                call.dtype = operand.view.dtype
        else:
            operand.flags |= ABSENT
        call.operand_count += 1
        return True

    def settle(self):
        """Asks for the form of the call as it is described now."""
        count = self.call.operand_count
        self.pack = struct.Struct(f"{count}Q{self.tail}").pack_into
        self.buffer = (ctypes.c_uint64 * (count + len(self.tail)))()
        self.address, self.words = ctypes.addressof(self.call), ctypes.addressof(self.buffer)
        self.form = self.library.form(self.address)

    def results(self, out):
        """The fresh tensors of a result, in the order of the schema, lists flattened."""
        found = []
        for i in self.schema.fresh:
            item = out if self.schema.is_single else out[i]
            found.extend(item if isinstance(item, (list, tuple)) else [item])
        return found

    def learn(self, found):
        """The outputs are others than the form says."""
        call = self.call
        room = MAX_OPERANDS - self.inputs
        call.operand_count = self.inputs + min(len(found), room)
        self.outputs = []
        for i, item in enumerate(found[:room]):
            operand = call.operands[self.inputs + i]
            operand.name = b"result" if len(found) == 1 else b"result%d" % i
            operand.role, operand.flags = ROLE_OUT, FRESH | (ABSENT if item is None else 0)
            if item is not None:
                put_view(operand, item, self.numbers)
            self.outputs.append(None if item is None else (item.shape, item.stride(), item.dtype))
        self.settle()


def describe(tensor):
    return None if tensor is None else (tensor.shape, tensor.stride(), tensor.dtype)


def make_plan(recorder, schema, names, values):
    """
    The function that records calls of one overload with arguments of these types: (func, args, kwargs) -> result, as source text. Tensors give three
    parts of the key and a word, numbers a word, all else a part of the key.
    """
    tensor = recorder.torch.Tensor
    count = len(values) - len(names)
    head, key, inputs, tail = [], ["ident()"], [], []
    arguments = []
    for i, value in enumerate(values):
        name = schema.arguments[i].name if i < count else names[i - count]
        head.append(f"a{i} = args[{i}]" if i < count else f"a{i} = kwargs[{names[i - count]!r}]")
        arguments.append(f"({name!r}, a{i})")
        kind = kind_of(schema.types[name], value)
        if isinstance(value, tensor):
            key += [f"a{i}.shape", f"a{i}.stride()", f"a{i}.dtype"]
            inputs.append(f"a{i}.data_ptr()")
        elif isinstance(value, (list, tuple)):
            if "Tensor" in schema.types[name]:
                return None
            key.append(f"tuple(a{i})")
        elif value is None or isinstance(value, recorder.torch.Generator):
            pass
        elif kind == "k":
            key.append(f"a{i}")
        else:
            tail.append(f"a{i}")
    state = "None"
    if schema.is_random:
        generator = f"a{values.index(next(v for v in values if isinstance(v, recorder.torch.Generator)))}" if any(
            isinstance(v, recorder.torch.Generator) for v in values) else "default"
        head.append(f"state = {generator}.get_state()")
        inputs.append("state.data_ptr()")
        state = "state"
    fresh = len(schema.fresh)
    if fresh > 1 and (schema.is_single or any("List" in str(result.type) for result in recorder.returns_of(schema))):
        return None
    if fresh == 1 and recorder.has_list_result(schema):
        return None
    lines = ["def run(func, args, kwargs):", "    try:"]
    lines += [f"        {line}" for line in head]
    lines += [f"        key = ({', '.join(key)},)", "        entry = entries.get(key)", "        if entry is None:",
              f"            entry = new(entries, key, schema, [{', '.join(arguments)}], {state})"]
    given = "".join(f"p{i}, " for i in range(len(inputs)))
    lines += [f"        p{i} = {source}" for i, source in enumerate(inputs)]
    scalars = "".join(f", {source}" for source in tail)
    before = ", ".join(filter(None, [given.rstrip(", "), ", ".join(["0"] * fresh)]))
    pack = f"entry.pack(entry.buffer, 0{', ' + before if before else ''}{scalars})"
    if schema.is_view:
        lines += ["    except Exception:", "        return trouble(func, args, kwargs)", "    out = func(*args, **kwargs)", "    try:", f"        {pack}",
                  "        note(entry.form, entry.address, entry.words)", "    except Exception:", "        trouble()", "    return out"]
    else:
        lines += [f"        {pack}", "        token = begin(entry.form, entry.address, entry.words)", "    except Exception:",
                  "        return trouble(func, args, kwargs)", "    try:", "        out = func(*args, **kwargs)", "    except BaseException:",
                  f"        {pack}", "        end(token, entry.form, entry.address, entry.words, 1)", "        raise", "    try:"]
        results, names_of = [], []
        for position, i in enumerate(schema.fresh):
            item = "out" if schema.is_single else f"out[{i}]"
            lines += [f"        r{position} = {item}", f"        known = entry.outputs[{position}]"]
            lines += [f"        if (r{position} is None) != (known is None) or known is not None and (r{position}.shape, r{position}.stride(), "
                      f"r{position}.dtype) != known:", f"            entry.learn([{', '.join('out' if schema.is_single else f'out[{k}]' for k in schema.fresh)}])"]
            results.append(f"r{position}.data_ptr() if r{position} is not None else 0")
            names_of.append(f"r{position}")
        after = ", ".join(filter(None, [given.rstrip(", "), ", ".join(results)]))
        lines += [f"        entry.pack(entry.buffer, 0{', ' + after if after else ''}{scalars})", "        end(token, entry.form, entry.address, entry.words, 0)",
                  "    except Exception:", "        trouble()", "    return out"]
    scope = {"entries": {}, "new": recorder.new_entry, "schema": schema, "begin": recorder.library.begin, "end": recorder.library.end,
             "note": recorder.library.note, "trouble": recorder.trouble, "ident": threading.get_ident, "default": recorder.torch.default_generator}
    exec(compile("\n".join(lines), "<ops-debug>", "exec"), scope)  # pylint: disable=exec-used
    return scope["run"]


# ---------------------------------------------------------------------------------------------------------------- recording

def plain(func, args, kwargs):
    """Tensors of classes of the program's own: what they are made of is recorded when they use it."""
    return func(*args, **kwargs)


class Recorder:
    """Plans, and what they need."""

    def __init__(self, torch, library):
        self.torch, self.library, self.numbers = torch, library, dtype_numbers(torch)
        self.overloads = []
        self.plans, self.schemas, self.entry_count, self.troubles = {}, {}, 0, 0
        self.provider = library.provider(loaded_at("libtorch_cpu"), torch.get_num_threads())
        self.ordinary = (torch.Tensor, torch.nn.Parameter)

    def trouble(self, func=None, args=(), kwargs=None):
        """Something in here failed: the operator runs as it would have."""
        self.troubles += 1
        if os.environ.get("OPSDEBUG_TORCH") == "debug":
            traceback.print_exc()
        return func(*args, **kwargs) if func is not None else None

    def new_entry(self, entries, key, schema, arguments, state):
        if any(self.is_foreign(value) for _, value in arguments):
            raise ValueError("a tensor without plain memory")
        if self.entry_count >= ENTRIES:
            for plan in self.plans.values():
                getattr(plan, "__globals__", {}).get("entries", {}).clear()
            self.entry_count = 0
        self.entry_count += 1
        entries[key] = entry = Entry(self, schema, arguments, state)
        return entry

    def returns_of(self, schema):
        return self.schemas[schema]

    def has_list_result(self, schema):
        return any("List" in str(result.type) for result in self.schemas[schema])

    def is_foreign(self, value):
        """Tensors that are no plain memory of this process."""
        if isinstance(value, (list, tuple)):
            return any(self.is_foreign(item) for item in value)
        if isinstance(value, self.torch.Tensor):
            return (value.device.type != "cpu" or value.layout != self.torch.strided or value.is_quantized or
                    value.dim() > MAX_RANK)
        return False

    def plan(self, func, args, kwargs):
        """The plan for these types, made at its first use."""
        values = [*args, *kwargs.values()]
        self.overloads.append(func)
        if any(isinstance(value, self.torch.Tensor) and type(value) not in self.ordinary for value in values):
            return plain
        schema = Schema(self.torch, func)
        self.schemas[schema] = func._schema.returns
        made = make_plan(self, schema, list(kwargs), values)
        if made is None:
            made = functools.partial(self.run_listed, schema, {})
        return made

    def run_listed(self, schema, entries, func, args, kwargs):
        """Calls with lists of tensors, whose lengths differ from call to call."""
        try:
            names = [argument.name for argument in schema.arguments]
            arguments = list(zip(names, args)) + list(kwargs.items())
            key, pointers, scalars = [threading.get_ident()], [], []
            for name, value in arguments:
                kind = kind_of(schema.types[name], value)
                if isinstance(value, self.torch.Tensor) or (isinstance(value, (list, tuple)) and "Tensor" in schema.types[name]):
                    items = value if isinstance(value, (list, tuple)) else [value]
                    key.append(tuple(describe(item) for item in items))
                    pointers += [0 if item is None else item.data_ptr() for item in items]
                elif isinstance(value, self.torch.Generator):
                    pass
                elif kind == "k":
                    key.append(tuple(value) if isinstance(value, (list, tuple)) else value)
                else:
                    scalars.append(value)
            key = tuple(key)
            entry = entries.get(key) or self.new_entry(entries, key, schema, arguments, None)
            pointers = pointers[:entry.inputs]
            outputs = [0] * (entry.call.operand_count - entry.inputs)
            entry.pack(entry.buffer, 0, *pointers, *outputs, *scalars)
            token = self.library.begin(entry.form, entry.address, entry.words)
        except Exception:
            return self.trouble(func, args, kwargs)
        status = 1
        out = None
        try:
            out = func(*args, **kwargs)
            status = 0
        finally:
            try:
                if status == 0 and not schema.is_view:
                    found = entry.results(out)
                    if [describe(item) for item in found[:MAX_OPERANDS - entry.inputs]] != entry.outputs:
                        entry.learn(found)
                    outputs = [0 if item is None else item.data_ptr() for item in found[:MAX_OPERANDS - entry.inputs]]
                entry.pack(entry.buffer, 0, *pointers, *outputs, *scalars)
                self.library.end(token, entry.form, entry.address, entry.words, status)
            except Exception:
                self.trouble()
        return out


def make_mode(recorder):
    """The dispatch mode."""
    from torch.utils._python_dispatch import TorchDispatchMode  # pylint: disable=import-outside-toplevel
    plans, find = recorder.plans, recorder.plans.get

    class OpsDebugMode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            # By number: an overload's own hash is Python, and costs as much as all the rest. The plan keeps the overload alive.
            if kwargs:
                kinds = (id(func), *map(type, args), *kwargs, *map(type, kwargs.values()))
            else:
                kinds, kwargs = (id(func), *map(type, args)), {}
            run = find(kinds)
            if run is None:
                try:
                    run = plans[kinds] = recorder.plan(func, args, kwargs)
                except Exception:
                    return recorder.trouble(func, args, kwargs)
            return run(func, args, kwargs)

    return OpsDebugMode()


def watch_collections(library):
    """Pauses of Python's garbage collector as ranges of the timeline."""
    names = [b"python gc generation %d" % i for i in range(3)]

    def note(phase, info):
        if phase == "start":
            library.push(names[info["generation"]])
        else:
            library.pop()
    gc.callbacks.append(note)


def watch_threads(mode):
    """Dispatch modes belong to a thread: those that Python starts from now on get theirs."""
    bootstrap = threading.Thread._bootstrap_inner

    def begin(self):
        with mode:
            bootstrap(self)
    threading.Thread._bootstrap_inner = begin


def hide_frames():
    """Tracebacks of uncaught exceptions look as they do without us."""
    own = (__file__, "<ops-debug>")
    ways = ("torch/utils/_python_dispatch.py", "torch/_ops.py")  # PyTorch's, to us and back
    shown = sys.excepthook

    def strip(trace, is_inside=False):
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            if not (name in own or name.endswith(ways[0]) or (is_inside and name.endswith(ways[1]))):
                break
            trace, is_inside = trace.tb_next, True
        if trace is not None:
            trace.tb_next = strip(trace.tb_next)
        return trace

    def show(kind, value, trace):
        trace = strip(trace)
        shown(kind, value.with_traceback(trace), trace)
    sys.excepthook = show


def torch_state_at(torch):
    """Where the default generator keeps its Mersenne Twister, found by its content: (address, bytes), None when it is not there."""
    generator = torch.default_generator
    state = bytes(generator.get_state().numpy())
    words = struct.pack("<624I", *(word & 0xffffffff for word in struct.unpack_from("<624Q", state, 24)))
    where = ctypes.c_void_p.from_address(id(generator) + object.__basicsize__).value
    offset = ctypes.string_at(where, 2640).find(words) if where else -1
    return (where + offset - 16, len(words) + 16) if offset >= 16 else None


def numpy_state_of(bits):
    """
    Where a bit generator of NumPy keeps its state: (address, bytes), None when that is not known.
    sources: numpy/random/src/*/*.h, version 1.24
    """
    at = bits.ctypes.state_address
    name = type(bits).__name__
    first, second = struct.unpack("<QQ", ctypes.string_at(at, 16))
    if name in ("PCG64", "PCG64DXSM"):  # a pointer to state and increment, 128 bits each
        return first, 32
    if name == "Philox":  # pointers to the counter of 256 bits and, directly before it, to the key of 128
        return (second, 48) if first == second + 16 else None
    return {"MT19937": (at, 2500), "SFC64": (at, 32)}.get(name)


class Generators:
    """Generators of NumPy that are watched: kept, so that their states stay where they are."""

    def __init__(self, numpy, library):
        self.numpy, self.library, self.kept = numpy, library, []

    def add(self, generator):
        bits = generator.bit_generator
        found = None if any(bits is kept for kept in self.kept) else numpy_state_of(bits)
        name = f"numpy.Generator-{len(self.kept) + 1}.{type(bits).__name__}"
        if found is not None and len(self.kept) < GENERATORS and self.library.watch(name.encode(), *found):
            self.kept.append(bits)

    def start(self):
        """Those that are there, and those that default_rng makes."""
        made = self.numpy.random.default_rng

        @functools.wraps(made)
        def default_rng(*arguments, **named):
            generator = made(*arguments, **named)
            try:
                self.add(generator)
            except (AttributeError, TypeError, ValueError):
                pass
            return generator
        for item in gc.get_objects():
            if type(item) is self.numpy.random.Generator:  # isinstance would ask lazy modules what they are
                self.add(item)
        self.numpy.random.default_rng = default_rng


def watch_generators(torch, library):
    """Seeds and states of the random generators in reach. What is not where it is looked for is left out."""
    library.generator(b"torch.initial_seed", torch.initial_seed() & (2 ** 64 - 1))
    seed = torch.manual_seed

    @functools.wraps(seed)
    def manual_seed(value):
        made = seed(value)
        library.generator(b"torch.manual_seed", torch.initial_seed() & (2 ** 64 - 1))
        return made
    torch.manual_seed = torch.random.manual_seed = manual_seed
    try:
        found = torch_state_at(torch)
        if found is not None:
            library.watch(b"torch.default_generator", *found)
        if "numpy.random" in sys.modules:
            numpy = sys.modules["numpy"]
            library.watch(b"numpy.random", numpy.random.mtrand._rand._bit_generator.ctypes.state_address, 2500)
            Generators(numpy, library).start()
        if "random" in sys.modules:
            library.watch(b"random", id(sys.modules["random"]._inst) + object.__basicsize__, 2500)
    except (AttributeError, TypeError, ValueError):
        pass


def start(torch=None):
    """Records from now on in this thread and those that Python starts. Returns the recorder, None where there is none."""
    if torch is None:
        import torch  # pylint: disable=import-outside-toplevel
    version = str(torch.__version__)
    if not version.startswith(KNOWN):
        say(f"--torch knows PyTorch {KNOWN}, this is {version}: its operators are not recorded")
        return None
    library = Library()
    recorder = Recorder(torch, library)
    mode = make_mode(recorder)
    watch_generators(torch, library)
    watch_collections(library)
    watch_threads(mode)
    hide_frames()
    mode.__enter__()
    return recorder


class Finder:
    """Waits for the program's own import of PyTorch."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            loader = spec.loader
            execute = loader.exec_module

            def exec_module(module):
                del loader.exec_module
                execute(module)
                try:
                    start(module)
                except Exception as error:  # whatever it is: the program goes on
                    say(f"--torch records no operators: {error}")
            loader.exec_module = exec_module
        return spec


def prepare():
    """At the start of an interpreter under `ops-debug record --torch`."""
    if "OPSDEBUG_SESSION" not in os.environ or "torch" in sys.modules:
        return
    if importlib.util.find_spec("torch") is None:
        if os.environ.pop("OPSDEBUG_TORCH", None) is not None:
            say("--torch: this python has no PyTorch, so no operators of it are recorded; apt-get install python3-torch")
        return
    sys.meta_path.insert(0, Finder())
