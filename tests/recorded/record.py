#!/usr/bin/env python3
"""Records references for Tegula's tests with PyTorch: a whole character-model training run, small GPT-2 folders, and
operator calls. Tests read the folders from the one that TEGULA_RECORDED names.

    pip install torch safetensors numpy
    python tests/recorded/record.py OUT --text tinyshakespeare.txt              # all of it, some minutes
    TEGULA_RECORDED=OUT ./dev test

What the files hold:

    nanogpt-char/   init.safetensors      initial parameters under nanoGPT's names, linear weights [out, in]
                    batches.safetensors   train_offsets [steps, B], val_offsets [n, B]: where samples begin
                    curve.json            train_loss, grad_norm (before clipping), lr, a step; val_loss at some steps
                    tinyshakespeare.txt   the text; its tokens are the indices of its sorted set of characters
    gpt2-NAME/      config.json, model.safetensors     as Hugging Face lays GPT-2 out (Conv1D weights [in, out])
                    expected.safetensors  input_ids, labels [11, B, T]; logits and grad.NAME of batch 0
                    expected.json         loss, grad_norm, ten AdamW steps, a greedy continuation
    operators/      cases.json, cases.safetensors      inputs, output, upstream gradient and gradients of operator calls
    operators-edge/ the same at the edges: NaN, ties, empty axes, past block borders

The model is written out below with torch's functions, so that nothing but PyTorch says what the numbers mean. Curves are
f32, everything else f64.
"""

import argparse
import json
import math
import pathlib
import shutil
import time

import torch
import torch.nn.functional as F
from safetensors.torch import save_file


class Gpt:
    """A GPT-2 style decoder over a dictionary of parameters (linear weights [out, in])."""

    def __init__(self, layers, heads, width, block, vocabulary, bias, gelu, eps=1e-5):
        self.layers, self.heads, self.width, self.block = layers, heads, width, block
        self.vocabulary, self.bias, self.gelu, self.eps = vocabulary, bias, gelu, eps

    def shapes(self):
        c, out = self.width, {}
        out["transformer.wte.weight"] = (self.vocabulary, c)
        out["transformer.wpe.weight"] = (self.block, c)
        def affine(name, shape):
            out[name + ".weight"] = shape
            if self.bias:
                out[name + ".bias"] = shape[:1]
        for i in range(self.layers):
            h = f"transformer.h.{i}."
            affine(h + "ln_1", (c,))
            affine(h + "attn.c_attn", (3 * c, c))
            affine(h + "attn.c_proj", (c, c))
            affine(h + "ln_2", (c,))
            affine(h + "mlp.c_fc", (4 * c, c))
            affine(h + "mlp.c_proj", (c, 4 * c))
        affine("transformer.ln_f", (c,))
        return out

    def initial(self, std=0.02, dtype=torch.float32):
        p = {}
        for name, shape in self.shapes().items():
            if name.endswith(".bias"):
                p[name] = torch.zeros(shape, dtype=dtype)
            elif ".ln_" in name:
                p[name] = torch.ones(shape, dtype=dtype)
            else:
                scale = std / math.sqrt(2 * self.layers) if name.endswith("c_proj.weight") else std
                p[name] = torch.randn(shape, dtype=dtype) * scale
        return p

    def logits(self, p, tokens):
        B, T = tokens.shape
        norm = lambda x, n: F.layer_norm(x, (self.width,), p[n + ".weight"], p.get(n + ".bias"), self.eps)
        linear = lambda x, n: F.linear(x, p[n + ".weight"], p.get(n + ".bias"))
        heads = lambda x: x.view(B, T, self.heads, -1).transpose(1, 2)
        x = p["transformer.wte.weight"][tokens] + p["transformer.wpe.weight"][:T]
        hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
        for i in range(self.layers):
            h = f"transformer.h.{i}."
            q, k, v = map(heads, linear(norm(x, h + "ln_1"), h + "attn.c_attn").split(self.width, dim=2))
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
            y = scores.masked_fill(hidden, -math.inf).softmax(-1) @ v
            x = x + linear(y.transpose(1, 2).reshape(B, T, self.width), h + "attn.c_proj")
            inner = F.gelu(linear(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate=self.gelu)
            x = x + linear(inner, h + "mlp.c_proj")
        return norm(x, "transformer.ln_f") @ p["transformer.wte.weight"].T

    def loss(self, p, tokens, labels):
        z = self.logits(p, tokens)
        return F.cross_entropy(z.view(-1, z.shape[-1]), labels.reshape(-1).long(), ignore_index=-100)


def adamw(p, lr, betas, decay):
    """Decoupled decay on tensors of two or more dimensions only."""
    groups = [{"params": [t for t in p.values() if t.dim() >= 2], "weight_decay": decay},
              {"params": [t for t in p.values() if t.dim() < 2], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=betas, eps=1e-8)


def require_gradients(p):
    return {name: t.clone().requires_grad_() for name, t in p.items()}


def record_character_run(out, text_path, steps, batch=12, block=64, validation_batches=20):
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(text_path, out / "tinyshakespeare.txt")
    text = pathlib.Path(text_path).read_text(encoding="utf-8")
    index = {c: i for i, c in enumerate(sorted(set(text)))}
    tokens = torch.tensor([index[c] for c in text])
    split = int(0.9 * len(tokens))
    train, validation = tokens[:split], tokens[split:]
    model = Gpt(layers=4, heads=4, width=128, block=block, vocabulary=len(index), bias=False, gelu="none")
    p = model.initial()
    save_file(p, out / "init.safetensors")
    offsets = torch.randint(len(train) - block, (steps, batch), dtype=torch.int32)
    validation_offsets = torch.randint(len(validation) - block, (validation_batches, batch), dtype=torch.int32)
    save_file({"train_offsets": offsets, "val_offsets": validation_offsets}, out / "batches.safetensors")

    def cut(source, row):
        x = torch.stack([source[o:o + block] for o in row.tolist()])
        return x, torch.stack([source[o + 1:o + 1 + block] for o in row.tolist()])

    def rate(i, warmup=100, peak=1e-3, floor=1e-4):
        if i < warmup:
            return peak * (i + 1) / (warmup + 1)
        return floor + 0.5 * (1 + math.cos(math.pi * (i - warmup) / max(1, steps - warmup))) * (peak - floor)

    p = require_gradients(p)
    optimizer = adamw(p, 1e-3, (0.9, 0.99), 0.1)
    curve = {"train_loss": [], "grad_norm": [], "lr": [], "val_loss": {}}
    begin = time.time()
    for i in range(steps + 1):
        if i % 250 == 0 or i == steps:
            with torch.no_grad():
                losses = [model.loss(p, *cut(validation, row)).item() for row in validation_offsets]
            curve["val_loss"][str(i)] = sum(losses) / len(losses)
        if i == steps:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate(i)
        optimizer.zero_grad()
        loss = model.loss(p, *cut(train, offsets[i]))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(p.values(), 1.0)
        optimizer.step()
        for key, value in (("train_loss", loss.item()), ("grad_norm", norm.item()), ("lr", rate(i))):
            curve[key].append(value)
    curve["seconds"] = time.time() - begin
    (out / "curve.json").write_text(json.dumps(curve))


def as_stored(name, t):
    """Hugging Face's Conv1D keeps [in, out]."""
    conv = name.endswith(".weight") and any(part in name for part in (".c_attn", ".c_proj", ".c_fc"))
    return (t.T if conv else t).detach().to(torch.float32).contiguous()


def record_gpt2(out, layers, heads, width, positions, vocabulary, T, batch=3):
    out.mkdir(parents=True, exist_ok=True)
    model = Gpt(layers, heads, width, positions, vocabulary, bias=True, gelu="tanh")
    # Larger than usual, so that no gradient is near zero, and with biases and norms that are not 0 and 1.
    start = {n: (t + 0.1 * torch.randn_like(t) if t.dim() == 1 else 5 * t) for n, t in model.initial(dtype=torch.float64).items()}
    start = {n: t.float().double() for n, t in start.items()}
    save_file({n: as_stored(n, t) for n, t in start.items()}, out / "model.safetensors")
    (out / "config.json").write_text(json.dumps({
        "model_type": "gpt2", "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "n_embd": width, "n_head": heads,
        "n_inner": None, "n_layer": layers, "n_positions": positions, "vocab_size": vocabulary, "tie_word_embeddings": True}, indent=1))
    ids = torch.randint(vocabulary, (11, batch, T), dtype=torch.int32)
    labels = torch.cat([ids[:, :, 1:], torch.full((11, batch, 1), -100, dtype=torch.int32)], dim=2)
    labels[:, 0, : T // 4] = -100

    p = require_gradients(start)
    logits = model.logits(p, ids[0].long())
    loss = model.loss(p, ids[0].long(), labels[0])
    gradients = torch.autograd.grad(loss, list(p.values()))
    tensors = {"input_ids": ids, "labels": labels, "logits": logits.detach().float()}
    tensors |= {f"grad.{n}": as_stored(n, g) for n, g in zip(p, gradients)}
    save_file(tensors, out / "expected.safetensors")
    expected = {"loss": loss.item(), "grad_norm": math.sqrt(sum(g.square().sum().item() for g in gradients)),
                "adamw": {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1, "clip_grad_norm": 1.0},
                "losses_of_10_steps": [], "grad_norms_before_clipping": []}
    with torch.no_grad():
        sequence, margin = ids[0, 2, :7].tolist(), math.inf
        for _ in range(16):
            top = model.logits(start, torch.tensor([sequence[-positions:]]))[0, -1].topk(2)
            margin = min(margin, (top.values[0] - top.values[1]).item())
            sequence.append(top.indices[0].item())
    expected["greedy"] = {"prompt": sequence[:7], "continuation": sequence[7:], "smallest_margin": margin}
    optimizer = adamw(p, 1e-3, (0.9, 0.95), 0.1)
    for step in range(10):
        optimizer.zero_grad()
        loss = model.loss(p, ids[step + 1].long(), labels[step + 1])
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(p.values(), 1.0)
        optimizer.step()
        expected["losses_of_10_steps"].append(loss.item())
        expected["grad_norms_before_clipping"].append(norm.item())
    expected["loss_on_batch_0_after"] = model.loss(p, ids[0].long(), labels[0]).item()
    expected["made_with"] = {"torch": torch.__version__}
    (out / "expected.json").write_text(json.dumps(expected, indent=1))


def attention(q, k, v, causal=False, mask=None):
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    T, S = s.shape[-2:]
    if causal:
        s = s.masked_fill(torch.ones(T, S, dtype=torch.bool).triu(1 + S - T), -math.inf)
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    dead = (s == -math.inf).all(-1, keepdim=True)
    return s.masked_fill(dead, 0).softmax(-1).masked_fill(dead, 0) @ v


def operator_cases():
    """(operator, inputs, attributes, differentiable inputs, function)."""
    r = lambda *shape: torch.randn(*shape)
    labels = torch.randint(23, (12,))
    labels[3] = -100
    qkv = lambda T, S, KV: {"q": r(2, 4, T, 8), "k": r(2, KV, S, 8), "v": r(2, KV, S, 8)}
    yield "matmul", {"a": r(3, 7, 65), "b": r(65, 33)}, {}, ["a", "b"], lambda a, b: a @ b
    yield "linear", {"x": r(2, 3, 33), "w": r(18, 33), "b": r(18)}, {}, ["x", "w", "b"], lambda x, w, b: F.linear(x, w, b)
    yield "softmax", {"x": r(4, 129)}, {"axis": -1}, ["x"], lambda x, axis: x.softmax(axis)
    yield "layer_norm", {"x": r(3, 4, 24), "w": r(24), "b": r(24)}, {"eps": 1e-5}, ["x", "w", "b"], lambda x, w, b, eps: F.layer_norm(x, (24,), w, b, eps)
    for form, name in (("erf", "none"), ("tanh", "tanh")):
        yield "gelu", {"x": 3 * r(3, 41)}, {"form": form}, ["x"], lambda x, form, name=name: F.gelu(x, approximate=name)
    for causal, S, KV in ((False, 13, 4), (True, 13, 4), (True, 13, 2), (False, 21, 4)):
        yield "attention", qkv(13, S, KV), {"causal": causal}, ["q", "k", "v"], attention
    mask = torch.rand(2, 1, 13, 13) > 0.5
    mask[0, 0, 4] = False
    yield "attention", qkv(13, 13, 4) | {"mask": mask}, {"causal": False}, ["q", "k", "v"], attention
    yield ("cross_entropy", {"x": r(12, 23), "y": labels}, {"ignore_index": -100}, ["x"],
           lambda x, y, ignore_index: F.cross_entropy(x, y, ignore_index=ignore_index))
    yield "embedding", {"w": r(11, 6), "i": torch.randint(11, (3, 8))}, {}, ["w"], lambda w, i: w[i]


def edge_cases():
    """The same, at the edges: past block borders, NaN and infinities, ties, empty axes, rows that see nothing. Results
    that are not finite have no gradient worth recording."""
    r = lambda *shape: torch.randn(*shape)
    inf, nan = math.inf, math.nan
    qkv = lambda T, S: {"q": r(1, 2, T, 16), "k": r(1, 2, S, 16), "v": r(1, 2, S, 16)}
    for T, S, causal in ((65, 65, True), (257, 257, False), (33, 97, True), (97, 33, True), (1, 129, True)):
        yield "attention", qkv(T, S), {"causal": causal}, ["q", "k", "v"], attention
    mask = torch.rand(1, 1, 33, 65) > 0.5
    mask[0, 0, 3] = mask[0, 0, 32] = False
    yield "attention", qkv(33, 65) | {"mask": mask}, {"causal": False}, ["q", "k", "v"], attention
    yield "attention", {"q": 100 * r(1, 1, 17, 16), "k": 100 * r(1, 1, 17, 16), "v": r(1, 1, 17, 16)}, {"causal": False}, ["q", "k", "v"], attention
    product = lambda a, b: a @ b
    for a, b in ((r(127, 257), r(257, 65)), (r(1, 300), r(300, 1)), (r(5, 0), r(0, 7))):
        yield "matmul", {"a": a, "b": b}, {}, ["a", "b"], product
    yield "matmul", {"a": torch.tensor([[inf, 1.0], [nan, 0.0], [2.0, 3.0]]), "b": torch.tensor([[0.0, 1.0], [4.0, 5.0]])}, {}, [], product
    tied = torch.randint(3, (5, 37)).float()
    folded = {"axis": -1, "keepdim": False}
    yield "max", {"x": tied}, folded, ["x"], lambda x, axis, keepdim: x.amax(axis, keepdim)
    yield "min", {"x": tied}, {"axis": 0, "keepdim": False}, ["x"], lambda x, axis, keepdim: x.amin(axis, keepdim)
    yield "max", {"x": torch.tensor([[1.0, nan, 3.0], [-inf, 2.0, inf]])}, folded, [], lambda x, axis, keepdim: x.amax(axis, keepdim)
    yield "maximum", {"a": tied, "b": torch.randint(3, (5, 37)).float()}, {}, ["a", "b"], lambda a, b: torch.maximum(a, b)
    steps = torch.tensor([-2.0, -0.5, 0.0, 0.7, 2.0])
    yield "relu", {"x": steps}, {}, ["x"], lambda x: x.relu()
    yield "abs", {"x": steps}, {}, ["x"], lambda x: x.abs()
    far = torch.linspace(-60, 60, 121)
    softplus = lambda x: torch.logaddexp(x, torch.zeros_like(x))  # F.softplus is x itself above 20
    for op, function in (("sigmoid", torch.sigmoid), ("tanh", torch.tanh), ("erf", torch.erf), ("softplus", softplus), ("exp", torch.exp)):
        yield op, {"x": far}, {}, ["x"], lambda x, function=function: function(x)
    hidden = r(4, 129)
    hidden[1, 3:] = -inf
    yield "softmax", {"x": hidden}, {"axis": -1}, ["x"], lambda x, axis: x.softmax(axis)
    yield "softmax", {"x": torch.tensor([[-inf, -inf], [nan, 0.0]])}, {"axis": -1}, [], lambda x, axis: x.softmax(axis)
    yield "sum", {"x": r(4, 0, 3)}, {"axis": 1, "keepdim": False}, ["x"], lambda x, axis, keepdim: x.sum(axis, keepdim)
    yield "mean", {"x": 100 + r(2, 10007)}, folded, ["x"], lambda x, axis, keepdim: x.mean(axis, keepdim)
    factors = r(3, 9)
    factors[1, 4] = factors[2, 0] = factors[2, 8] = 0
    yield "prod", {"x": factors}, folded, ["x"], lambda x, axis, keepdim: x.prod(axis, keepdim)
    yield "cumsum", {"x": r(3, 129)}, {"axis": -1}, ["x"], lambda x, axis: x.cumsum(axis)
    yield "layer_norm", {"x": torch.full((2, 33), 3.0)}, {"eps": 1e-5}, ["x"], lambda x, eps: F.layer_norm(x, (33,), eps=eps)
    entropy = lambda x, y, ignore_index, reduction="mean": F.cross_entropy(x, y, ignore_index=ignore_index, reduction=reduction)
    yield "cross_entropy", {"x": r(6, 50257), "y": torch.randint(50257, (6,))}, {"ignore_index": -100}, ["x"], entropy
    yield "cross_entropy", {"x": r(5, 7), "y": torch.full((5,), -100)}, {"ignore_index": -100, "reduction": "sum"}, ["x"], entropy
    yield "embedding", {"w": r(11, 6), "i": torch.zeros(1400, dtype=torch.long)}, {}, ["w"], lambda w, i: w[i]
    yield "concatenate", {"a": r(0, 5), "b": r(3, 5)}, {"axis": 0}, ["a", "b"], lambda a, b, axis: torch.cat((a, b), axis)
    window = {"stride": [2, 1], "padding": [1, 2], "dilation": [1, 2], "groups": 1}
    yield "conv2d", {"x": r(2, 3, 9, 11), "w": r(4, 3, 3, 2)}, window, ["x", "w"], lambda x, w, **a: F.conv2d(x, w, **a)


def record_operators(out, cases_of):
    out.mkdir(parents=True, exist_ok=True)
    cases, tensors = [], {}
    for number, (op, inputs, attrs, differentiable, function) in enumerate(cases_of):
        case = f"{number:03d}"
        wide = {n: (t.double().requires_grad_(n in differentiable) if t.is_floating_point() else t) for n, t in inputs.items()}
        y = function(**wide, **attrs)
        tensors |= {f"{case}.in.{n}": t.contiguous().clone() for n, t in inputs.items()}
        tensors[f"{case}.out"] = y.detach().contiguous().clone()
        cases.append({"case": case, "op": op, "inputs": list(inputs), "attrs": attrs})
        if not differentiable:
            continue
        upstream = torch.randn(y.shape)
        gradients = torch.autograd.grad(y, [wide[n] for n in differentiable], upstream.double())
        tensors[f"{case}.dout"] = upstream
        tensors |= {f"{case}.grad.{n}": g.contiguous().clone() for n, g in zip(differentiable, gradients)}
        cases[-1]["gradients"] = differentiable
    save_file(tensors, out / "cases.safetensors")
    (out / "cases.json").write_text(json.dumps({"source": f"PyTorch {torch.__version__}, float64 on float32 inputs", "cases": cases}, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--text", help="the text of the character run; without it that run is left out")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    record_operators(arguments.out / "operators", operator_cases())
    record_operators(arguments.out / "operators-edge", edge_cases())
    record_gpt2(arguments.out / "gpt2-tiny", layers=3, heads=4, width=48, positions=40, vocabulary=97, T=29)
    record_gpt2(arguments.out / "gpt2-long", layers=2, heads=4, width=32, positions=701, vocabulary=53, T=701)
    if arguments.text:
        record_character_run(arguments.out / "nanogpt-char", arguments.text, arguments.steps)


if __name__ == "__main__":
    main()
