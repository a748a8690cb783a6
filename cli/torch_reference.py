# SPDX-License-Identifier: Apache-2.0
"""Computes one call of an operator with PyTorch: FOLDER/request.json and FOLDER/N.bin in, FOLDER/NAME.bin out, raw and row-major.

Exit status 77: there is no PyTorch; 78: PyTorch has no such operator, or not this form of it. The last line of standard error says what.
"""
import json
import pathlib
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("PyTorch is not installed; apt-get install python3-torch", file=sys.stderr)
    sys.exit(77)

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i8": torch.int8, "i16": torch.int16,
          "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8, "bool": torch.bool}


class Unsupported(Exception):
    """PyTorch cannot say what is right here."""


def norm_axes(x, axis):
    return tuple(x.shape[axis % x.dim():])


def layer_norm(a, x, scale, bias=None):
    axes = norm_axes(x, a.get("axis", -1))
    return F.layer_norm(x, axes, scale.broadcast_to(axes), None if bias is None else bias.broadcast_to(axes), a.get("epsilon", 1e-5))


def rms_norm(a, x, scale):
    axes = tuple(range(a.get("axis", -1) % x.dim(), x.dim()))
    return x * torch.rsqrt(x.square().mean(axes, keepdim=True) + a.get("epsilon", 1e-5)) * scale


def reduction(of):
    def compute(a, x, axes=None):
        if axes is None or axes.numel() == 0:
            if a.get("noop_with_empty_axes", 0):
                return x
            axes = torch.arange(x.dim())
        return of(x, tuple(int(d) for d in axes), bool(a.get("keepdims", 1)))
    return compute


def gemm(a, x, y, z=None):
    x = x.t() if a.get("transA") else x
    y = y.t() if a.get("transB") else y
    result = a.get("alpha", 1.0) * (x @ y)
    return result if z is None else result + a.get("beta", 1.0) * z


def conv(a, x, w, b=None):
    rank = x.dim() - 2
    pads = a.get("pads") or [0] * (2 * rank)
    if a.get("auto_pad", "NOTSET") != "NOTSET":
        raise Unsupported("auto_pad")
    widths = [pads[i] for d in reversed(range(rank)) for i in (d, d + rank)]
    f = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[rank]
    return f(F.pad(x, widths), w, b, stride=a.get("strides") or 1, dilation=a.get("dilations") or 1, groups=a.get("group", 1))


def batch_norm(a, x, scale, b, mean, var):
    return F.batch_norm(x, mean, var, scale, b, False, 0.0, a.get("epsilon", 1e-5))


def clip(a, x, low=None, high=None):
    x = x if low is None else torch.maximum(x, low)
    return x if high is None else torch.minimum(x, high)


def cumsum(a, x, axis):
    if a.get("exclusive") or a.get("reverse"):
        raise Unsupported("exclusive or reverse CumSum")
    return torch.cumsum(x, int(axis))


def pick(of):
    def compute(a, x):
        if a.get("select_last_index"):
            raise Unsupported("select_last_index")
        return of(x, a.get("axis", 0), bool(a.get("keepdims", 1)))
    return compute


def fold(of):
    def compute(a, *xs):
        result = xs[0]
        for x in xs[1:]:
            result = of(result, x)
        return result
    return compute


OPERATORS = {
    "Abs": lambda a, x: x.abs(), "Neg": lambda a, x: -x, "Sqrt": lambda a, x: x.sqrt(), "Reciprocal": lambda a, x: x.reciprocal(),
    "Exp": lambda a, x: x.exp(), "Log": lambda a, x: x.log(), "Erf": lambda a, x: x.erf(), "Relu": lambda a, x: F.relu(x),
    "Sigmoid": lambda a, x: x.sigmoid(), "Tanh": lambda a, x: x.tanh(), "HardSwish": lambda a, x: F.hardswish(x),
    "LeakyRelu": lambda a, x: F.leaky_relu(x, a.get("alpha", 0.01)), "Gelu": lambda a, x: F.gelu(x, approximate=a.get("approximate", "none")),
    "Add": lambda a, x, y: x + y, "Sub": lambda a, x, y: x - y, "Mul": lambda a, x, y: x * y,
    "Div": lambda a, x, y: x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc"),
    "Pow": lambda a, x, y: x.pow(y), "Min": fold(torch.minimum), "Max": fold(torch.maximum), "Clip": clip,
    "Where": lambda a, c, x, y: torch.where(c, x, y), "MatMul": lambda a, x, y: x @ y, "Gemm": gemm, "Conv": conv,
    "ReduceSum": reduction(lambda x, d, k: x.sum(d, keepdim=k)), "ReduceMean": reduction(lambda x, d, k: x.mean(d, keepdim=k)),
    "ReduceMax": reduction(lambda x, d, k: x.amax(d, keepdim=k)), "ReduceMin": reduction(lambda x, d, k: x.amin(d, keepdim=k)),
    "ReduceL2": reduction(lambda x, d, k: x.norm(2, d, keepdim=k)), "CumSum": cumsum,
    "ArgMax": pick(lambda x, d, k: x.argmax(d, keepdim=k)), "ArgMin": pick(lambda x, d, k: x.argmin(d, keepdim=k)),
    "Softmax": lambda a, x: x.softmax(a.get("axis", -1)), "LogSoftmax": lambda a, x: x.log_softmax(a.get("axis", -1)),
    "LayerNormalization": layer_norm, "RMSNormalization": rms_norm, "BatchNormalization": batch_norm,
    "GroupNormalization": lambda a, x, s, b: F.group_norm(x, a["num_groups"], s, b, a.get("epsilon", 1e-5)),
    "InstanceNormalization": lambda a, x, s, b: F.instance_norm(x, None, None, s, b, eps=a.get("epsilon", 1e-5)),
    "GlobalAveragePool": lambda a, x: x.mean(tuple(range(2, x.dim())), keepdim=True),
    "Transpose": lambda a, x: x.permute(a.get("perm") or list(reversed(range(x.dim())))),
    "Concat": lambda a, *xs: torch.cat(xs, a["axis"]),
}


def load(folder, tensor):
    if tensor is None:
        return None
    dtype = DTYPES.get(tensor["dtype"])
    if dtype is None:
        raise Unsupported(f"no dtype {tensor['dtype']}")
    data = bytearray((folder / tensor["file"]).read_bytes())
    return (torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)).reshape(tensor["shape"])


def main():
    folder = pathlib.Path(sys.argv[1])
    request = json.loads((folder / "request.json").read_text())
    operator = OPERATORS.get(request["op"]) if request["domain"] == "ai.onnx" else None
    if operator is None:
        raise Unsupported(f"no {request['op']} in its table")
    attributes = {name: value for name, value in request["attributes"].items() if value is not None}
    inputs = [load(folder, tensor) for tensor in request["inputs"]]
    while inputs and inputs[-1] is None:
        inputs.pop()
    if len(request["outputs"]) != 1:
        raise Unsupported("more than one output")
    wanted = request["outputs"][0]
    result = operator(attributes, *inputs).to(DTYPES[wanted["dtype"]]).contiguous()
    if list(result.shape) != wanted["shape"]:
        raise Unsupported(f"another shape of the result, {list(result.shape)}")
    (folder / f"{wanted['name']}.bin").write_bytes(result.reshape(-1).view(torch.uint8).numpy().tobytes())


try:
    main()
except (Unsupported, RuntimeError, KeyError, TypeError) as error:
    print(f"PyTorch: {str(error).splitlines()[0]}", file=sys.stderr)
    sys.exit(78)
