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
    y, mean, inverse = torch.native_layer_norm(x, list(axes), scale.broadcast_to(axes).contiguous(),
                                               None if bias is None else bias.broadcast_to(axes).contiguous(), a.get("epsilon", 1e-5))
    return y, mean, inverse


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
    if not a.get("training_mode"):
        return F.batch_norm(x, mean, var, scale, b, False, 0.0, a.get("epsilon", 1e-5))
    axes = [d for d in range(x.dim()) if d != 1]
    made_mean, made_var, momentum = x.mean(axes), x.var(axes, unbiased=False), a.get("momentum", 0.9)
    y = F.batch_norm(x, None, None, scale, b, True, 0.0, a.get("epsilon", 1e-5))
    return y, mean * momentum + made_mean.to(mean.dtype) * (1 - momentum), var * momentum + made_var.to(var.dtype) * (1 - momentum)


def clip(a, x, low=None, high=None):
    x = x if low is None else torch.maximum(x, low)
    return x if high is None else torch.minimum(x, high)


def cumsum(a, x, axis):
    axis = int(axis)
    x = x.flip(axis) if a.get("reverse") else x
    y = torch.cumsum(x, axis)
    if a.get("exclusive"):
        y = torch.cat([torch.zeros_like(y.narrow(axis, 0, 1)), y.narrow(axis, 0, y.shape[axis] - 1)], axis) if y.shape[axis] else y
    return y.flip(axis) if a.get("reverse") else y


def pick(of):
    def compute(a, x):
        axis = a.get("axis", 0)
        if not a.get("select_last_index"):
            return of(x, axis, bool(a.get("keepdims", 1)))
        return x.shape[axis] - 1 - of(x.flip(axis), axis, bool(a.get("keepdims", 1)))
    return compute


def top_k(a, x, k):
    return torch.topk(x, int(k), a.get("axis", -1), bool(a.get("largest", 1)), bool(a.get("sorted", 1)))


def pool_pads(a, rank):
    """Windows of PyTorch's pools; what they cannot say is not asked of them."""
    pads = a.get("pads") or [0] * (2 * rank)
    if a.get("auto_pad", "NOTSET") != "NOTSET" or pads[:rank] != pads[rank:]:
        raise Unsupported("auto_pad, or other padding before than after")
    return pads[:rank], a.get("strides") or [1] * rank


def max_pool(a, x):
    rank = x.dim() - 2
    pads, strides = pool_pads(a, rank)
    f = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[rank]
    want = len(a["outputs"]) > 1 and a["outputs"][1]
    if want and a.get("storage_order"):
        raise Unsupported("positions counted by columns")
    result = f(x, a["kernel_shape"], strides, pads, a.get("dilations") or 1, bool(a.get("ceil_mode")), want)
    if not want:
        return result
    plane = x[0, 0].numel() if x.numel() else 0  # PyTorch counts within a channel, ONNX within the whole
    first = torch.arange(x.shape[0] * x.shape[1]).reshape([x.shape[0], x.shape[1]] + [1] * rank) * plane
    return result[0], result[1] + first


def average_pool(a, x):
    rank = x.dim() - 2
    pads, strides = pool_pads(a, rank)
    if any(d != 1 for d in a.get("dilations") or []):
        raise Unsupported("dilated means")
    f = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[rank]
    return f(x, a["kernel_shape"], strides, pads, bool(a.get("ceil_mode")), bool(a.get("count_include_pad")))


def heads_of(x, heads):
    """[B, S, heads * D] as [B, heads, S, D]; rank 4 is that already."""
    return x if x.dim() == 4 else x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def attention(a, q, k, v, mask=None, past_key=None, past_value=None):
    rank = q.dim()
    q, k, v = heads_of(q, a.get("q_num_heads")), heads_of(k, a.get("kv_num_heads")), heads_of(v, a.get("kv_num_heads"))
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        k, v = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
    present_key, present_value = k, v
    k, v = k.repeat_interleave(q.shape[1] // k.shape[1], 1), v.repeat_interleave(q.shape[1] // v.shape[1], 1)
    scale = a["scale"] if a.get("scale") is not None else q.shape[-1] ** -0.5
    scores = [q @ k.transpose(2, 3) * scale]
    cap = a.get("softcap", 0.0)
    scores.append(cap * torch.tanh(scores[0] / cap) if cap else scores[0])
    bias = torch.zeros(scores[0].shape[2:], dtype=q.dtype)
    if mask is not None:
        mask = F.pad(mask, (0, k.shape[2] - mask.shape[-1]), value=False if mask.dtype == torch.bool else -torch.inf) if mask.shape[-1] not in (1, k.shape[2]) else mask
        bias = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else mask
    if a.get("is_causal"):
        later = torch.arange(k.shape[2])[None, :] > torch.arange(q.shape[2])[:, None] + past
        bias = bias + torch.zeros(later.shape, dtype=q.dtype).masked_fill(later, -torch.inf)
    scores.append(scores[1] + bias)
    scores.append(scores[2].softmax(-1))
    y = scores[3] @ v
    y = y if rank == 4 else y.transpose(1, 2).reshape(y.shape[0], y.shape[2], -1)
    return y, present_key, present_value, scores[a.get("qk_matmul_output_mode", 0)]


def lstm(a, x, w, r, b=None, lengths=None, h=None, c=None, p=None):
    if lengths is not None or p is not None or a.get("clip") is not None or a.get("input_forget"):
        raise Unsupported("lengths, peepholes, clip or input_forget")
    direction = a.get("direction", "forward")
    if a.get("layout"):
        x = x.transpose(0, 1)
        h, c = (None if s is None else s.transpose(0, 1) for s in (h, c))
    both, hidden = w.shape[0], r.shape[2]
    x = x.flip(0) if direction == "reverse" else x
    # Gates: ONNX i, o, f, c; PyTorch i, f, c, o.
    order = torch.cat([torch.arange(hidden) + g * hidden for g in (0, 2, 3, 1)])
    b = torch.zeros(both, 8 * hidden, dtype=x.dtype) if b is None else b
    weights = []
    for d in range(both):
        weights += [w[d][order], r[d][order], b[d][:4 * hidden][order], b[d][4 * hidden:][order]]
    zero = torch.zeros(both, x.shape[1], hidden, dtype=x.dtype)
    y, h, c = torch._VF.lstm(x, (zero if h is None else h.contiguous(), zero if c is None else c.contiguous()), weights, True, 1, 0.0, False,
                             both == 2, False)
    y = y.flip(0) if direction == "reverse" else y
    y = y.reshape(y.shape[0], y.shape[1], both, hidden)  # [s, b, directions, h]
    return (y.transpose(0, 1), h.transpose(0, 1), c.transpose(0, 1)) if a.get("layout") else (y.transpose(1, 2), h, c)


def slices(a, x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else [int(d) % x.dim() for d in axes]
    steps = [1] * len(starts) if steps is None else steps
    for axis, start, end, step in zip(axes, starts, ends, steps):
        at = torch.tensor(list(range(x.shape[axis]))[int(start):None if int(step) < 0 and int(end) < -x.shape[axis] else int(end):int(step)], dtype=torch.int64)
        x = x.index_select(axis, at)
    return x


def split(a, x, sizes=None):
    axis = a.get("axis", 0)
    count = len(a["outputs"])
    if sizes is None:
        part = -(-x.shape[axis] // count)
        sizes = [max(0, min(part, x.shape[axis] - i * part)) for i in range(count)]
    return torch.split(x, [int(n) for n in sizes], axis)


def pad(a, x, pads, value=None, axes=None):
    axes = range(x.dim()) if axes is None else [int(d) % x.dim() for d in axes]
    count = len(pads) // 2
    before, after = [0] * x.dim(), [0] * x.dim()
    for i, axis in enumerate(axes):
        before[axis], after[axis] = int(pads[i]), int(pads[count + i])
    if a.get("mode", "constant") != "constant":
        raise Unsupported("padding other than by a constant")
    widths = [n for d in reversed(range(x.dim())) for n in (before[d], after[d])]
    return F.pad(x.float() if x.dtype == torch.bool else x, widths, value=0 if value is None else value.item()).to(x.dtype)


def gather(a, x, indices):
    axis = a.get("axis", 0) % x.dim()
    at = torch.where(indices < 0, indices + x.shape[axis], indices).long()
    return x.index_select(axis, at.reshape(-1)).reshape(x.shape[:axis] + at.shape + x.shape[axis + 1:])


def resize(a, x, roi=None, scales=None, sizes=None):
    mode, way = a.get("mode", "nearest"), a.get("coordinate_transformation_mode", "half_pixel")
    if a.get("axes") or a.get("antialias") or sizes is not None or scales is None or x.dim() < 3 or any(float(s) != 1 for s in scales[:2]):
        raise Unsupported("this way of giving the sizes")
    factors = [float(s) for s in scales[2:]]
    linear = {3: "linear", 4: "bilinear", 5: "trilinear"}[x.dim()]
    if mode == "nearest" and way == "asymmetric" and a.get("nearest_mode") == "floor":
        return F.interpolate(x, scale_factor=factors, mode="nearest")
    if mode == "linear" and way in ("half_pixel", "align_corners"):
        return F.interpolate(x, scale_factor=factors, mode=linear, align_corners=way == "align_corners", recompute_scale_factor=False)
    raise Unsupported(f"mode {mode} with coordinates {way}")


def cast(a, x):
    if a.get("to", 1) not in (1, 10, 11, 16):
        raise Unsupported("casts to floats only: what lies beyond an integer's range is another thing there")
    return x


def lp_norm(a, x):
    norm = x.norm(a.get("p", 2), a.get("axis", -1), keepdim=True)
    return torch.where(norm == 0, torch.zeros_like(x), x / norm)


def window_l2(a, x):
    return lp_norm({"axis": 1}, F.avg_pool2d(x, 3, 1, 1, count_include_pad=False))


def matmul_bias_gelu(a, x, w, b=None):
    return F.gelu(x @ w if b is None else x @ w + b, approximate=a.get("approximate", "none"))


def qkv(a, x, w, b=None):
    width = w.shape[1] // (a["q_num_heads"] + 2 * a["kv_num_heads"])
    return torch.split(x @ w if b is None else x @ w + b, [a["q_num_heads"] * width, a["kv_num_heads"] * width, a["kv_num_heads"] * width], -1)


def add_layer_norm(a, x, other, scale, b=None):
    return layer_norm(dict(a, axis=-1), x + other, scale, b)[0], x + other


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
    "Concat": lambda a, *xs: torch.cat(xs, a.get("axis", 0)), "TopK": top_k, "MaxPool": max_pool, "AveragePool": average_pool,
    "Attention": attention, "LSTM": lstm, "Slice": slices, "Split": split, "Pad": pad, "Gather": gather, "Resize": resize,
    "Reshape": lambda a, x, shape: x.reshape([x.shape[i] if n == 0 and not a.get("allowzero") else int(n) for i, n in enumerate(shape)]),
    "Expand": lambda a, x, shape: x.broadcast_to(torch.broadcast_shapes(x.shape, [int(n) for n in shape])),
    "Cast": cast, "LpNormalization": lp_norm,
    "GeluAddResidual": lambda a, x, r: F.gelu(x, approximate=a.get("approximate", "none")) + r,
    "MatMulBiasGelu": matmul_bias_gelu, "QkvProjection": qkv, "FusedAttention": attention, "WindowL2Normalization": window_l2,
    "AddLayerNorm": add_layer_norm, "LayerNormBias": lambda a, x, b, s, c=None: add_layer_norm(a, x, b, s, c)[0],
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
    operator = OPERATORS.get(request["op"]) if request["domain"] in ("ai.onnx", "opsdebug") else None
    if operator is None:
        raise Unsupported(f"no {request['op']} in its table")
    attributes = {name: value for name, value in request["attributes"].items() if value is not None}
    inputs = [load(folder, tensor) for tensor in request["inputs"]]
    while inputs and inputs[-1] is None:
        inputs.pop()
    attributes["outputs"] = [wanted is not None for wanted in request["outputs"]]
    results = operator(attributes, *inputs)
    results = results if isinstance(results, (tuple, list)) else [results]
    for i, wanted in enumerate(request["outputs"]):
        if wanted is None:
            continue
        if i >= len(results) or results[i] is None:
            raise Unsupported(f"it gives no {wanted['name']}")
        result = results[i].to(DTYPES[wanted["dtype"]]).contiguous()
        if list(result.shape) != wanted["shape"]:
            raise Unsupported(f"another shape of {wanted['name']}, {list(result.shape)}")
        (folder / f"{wanted['name']}.bin").write_bytes(result.reshape(-1).view(torch.uint8).numpy().tobytes())


try:
    main()
except (Unsupported, RuntimeError, KeyError, TypeError, IndexError, ValueError) as error:
    print(f"PyTorch: {str(error).splitlines()[0]}", file=sys.stderr)
    sys.exit(78)
