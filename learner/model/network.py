"""The network in plain torch: what training and the query engine run (paper 001, section 9.1 and Table 4).

Parameter names and shapes are those of ``learner.model.pretrained.PolicyValueModel``, so both load the same
``model.safetensors``; this one needs no transformers, whose import costs every process seconds and memory.

Shape letters: ``B`` sequences, ``T`` positions, ``N`` any leading dimensions, ``E`` n_embd, ``H`` heads, ``D`` = E / H,
``V`` tokens, ``K`` outcome labels.
"""

import math
from dataclasses import asdict
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from games.game import Game
from learner.model.architecture import MODEL_TYPE, Architecture
from learner.model.board import BoardEmbedding
from learner.model.feature_sums import feature_sums
from learner.model.rule_inputs import NO_INPUTS, RuleInputs, cells_of
from learner.model.shapes import filled_up

_SHORT = 256
"""Positions up to which attention written out beats torch's fused one on a CPU in bfloat16."""
_MINUS_INFINITY = {torch.float32: (torch.int32, -(1 << 23)), torch.bfloat16: (torch.int16, -(1 << 7))}
"""Its bits, as integers of the same size."""


class Projection(nn.Module):
    """``x W + b`` with the weight stored ``[in, out]``, as GPT-2 checkpoints have it."""

    def __init__(self, size_in: int, size_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size_in, size_out))
        self.bias = nn.Parameter(torch.zeros(size_out))

    def forward(self, x_NI: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """``[N, out]`` in the matrix product's ``dtype``."""
        flat = torch.addmm(self.bias.to(dtype), x_NI.flatten(0, -2).to(dtype), self.weight.to(dtype))
        return flat.view(*x_NI.shape[:-1], -1)


class Attention(nn.Module):
    """The parameters of one attention layer; the caller computes the attention."""

    def __init__(self, n_embd: int) -> None:
        super().__init__()
        self.c_attn = Projection(n_embd, 3 * n_embd)
        self.c_proj = Projection(n_embd, n_embd)


class FeedForward(nn.Module):
    """Two layers with GELU in its tanh form (``gelu_new``)."""

    def __init__(self, n_embd: int, n_inner: int) -> None:
        super().__init__()
        self.c_fc = Projection(n_embd, n_inner)
        self.c_proj = Projection(n_inner, n_embd)

    def forward(self, x_NE: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """``[N, E]`` in ``dtype``."""
        return self.c_proj(F.gelu(self.c_fc(x_NE, dtype), approximate="tanh"), dtype)  # type: ignore[no-any-return]


class Block(nn.Module):
    """One layer, in the two halves around the attention itself. The residual stream stays float32."""

    def __init__(self, arch: Architecture) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(arch.n_embd, eps=arch.layer_norm_epsilon)
        self.attn = Attention(arch.n_embd)
        self.ln_2 = nn.LayerNorm(arch.n_embd, eps=arch.layer_norm_epsilon)
        self.mlp = FeedForward(arch.n_embd, arch.n_inner)
        self.resid_pdrop = arch.resid_pdrop

    def queries_keys_values(self, x_NE: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """``[N, 3E]``: query, key and value of every position, before they are cut into heads."""
        return self.attn.c_attn(self.ln_1(x_NE), dtype)  # type: ignore[no-any-return]

    def after_attention(
        self,
        x_NE: torch.Tensor,
        attended_NE: torch.Tensor,
        dtype: torch.dtype,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor:
        """``float32[N, E]``: the residual stream behind this layer; dropout only with a ``generator``."""
        x_NE = x_NE + dropout(self.attn.c_proj(attended_NE, dtype), self.resid_pdrop, generator)
        return x_NE + dropout(self.mlp(self.ln_2(x_NE), dtype), self.resid_pdrop, generator)


class Transformer(nn.Module):
    """GPT-2 without its heads."""

    def __init__(self, arch: Architecture) -> None:
        super().__init__()
        self.wte = nn.Embedding(arch.vocab_size, arch.n_embd)
        self.wpe = nn.Embedding(arch.n_positions, arch.n_embd)
        self.h = nn.ModuleList(Block(arch) for _ in range(arch.n_layer))
        self.ln_f = nn.LayerNorm(arch.n_embd, eps=arch.layer_norm_epsilon)


class Heads:
    """What the network has beside GPT-2's trunk, under the names that checkpoints give it."""

    def add_heads(self, arch: Any) -> None:
        """Add these layers. ``arch``: an ``Architecture``, or what has its attributes."""
        self.lm_hidden = nn.Linear(arch.n_embd, arch.n_embd, bias=False)
        self.lm_head = nn.Linear(arch.n_embd, arch.vocab_size, bias=False)
        self.val_hidden = nn.Linear(arch.n_embd, arch.n_embd, bias=False)
        self.val_head = nn.Linear(arch.n_embd, arch.num_outcomes, bias=False)
        if arch.token_types:
            self.type_embeddings = nn.Embedding(2 * arch.token_types, arch.n_embd)
        if arch.boards:
            self.board = BoardEmbedding(arch.boards, arch.n_embd)
        elif arch.num_features:
            self.feature_embeddings = nn.Embedding(arch.num_features, arch.n_embd)
        if arch.choices:
            numbers, width = arch.choices["numbers"], arch.choices["width"]
            self.choice_features = nn.Linear(numbers, width, bias=False)
            self.choice_hidden = nn.Linear(arch.n_embd, width, bias=False)
            self.choice_layers = nn.ModuleList(
                nn.Linear(width, width, bias=False) for _ in range(arch.choices["layers"])
            )
            self.choice_head = nn.Linear(width, 1, bias=False)


class PolicyValueNet(Heads, nn.Module):
    """Trunk, next-token head and outcome head."""

    def __init__(self, arch: Architecture) -> None:
        super().__init__()
        self.arch = arch
        self.transformer = Transformer(arch)
        self.add_heads(arch)

    def config_record(self, game: Game) -> dict[str, Any]:
        """Its part of ``config.json``: the architecture in GPT-2's terms."""
        return {
            "model_type": MODEL_TYPE,
            "architectures": ["PolicyValueModel"],
            **asdict(self.arch),
            "activation_function": "gelu_new",
            "attn_pdrop": 0.0,
            "tie_word_embeddings": False,
            "bos_token_id": None,
            "eos_token_id": game.vocabulary.eos,
        }

    def hidden_matrices(self) -> list[torch.Tensor]:
        """The weights between hidden layers: those of the trunk and the heads' first layers. No embedding, no output
        layer."""
        inside = [parameter for parameter in self.transformer.h.parameters() if parameter.ndim == 2]
        choices = [self.choice_hidden, *self.choice_layers] if self.arch.choices else []
        firsts = [self.lm_hidden, self.val_hidden, *choices]
        return inside + [first.weight for first in firsts]

    @property
    def blocks(self) -> list[Block]:
        """The layers, first to last."""
        return list(self.transformer.h)  # type: ignore[arg-type]

    def embedded(
        self, tokens_N: torch.Tensor, positions_N: torch.Tensor, inputs: RuleInputs, dtype: torch.dtype
    ) -> torch.Tensor:
        """``float32[N, E]``: embeddings of tokens at positions."""
        x_NE = self.transformer.wte(tokens_N) + self.transformer.wpe(positions_N)
        if inputs.types is not None:
            last, coming = inputs.types.unbind(-1)
            x_NE += self.type_embeddings(last)
            x_NE += self.type_embeddings(coming + self.arch.token_types)
        if inputs.features is not None and self.arch.boards:
            x_NE = x_NE + self.board(inputs.features, dtype)
        elif inputs.features is not None:
            x_NE += feature_sums(inputs.features, self.feature_embeddings.weight.to(dtype))
        return x_NE  # type: ignore[no-any-return]

    def hidden(
        self,
        tokens_BT: torch.Tensor,
        dtype: torch.dtype = torch.float32,
        generator: torch.Generator | None = None,
        inputs: RuleInputs = NO_INPUTS,
        positions_BT: torch.Tensor | None = None,
        seen_BTT: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """``float32[B, T, E]``: hidden states of every prefix.

        Attention is causal unless ``seen_BTT`` is given, so padding must follow the sequence.

        Args:
            tokens_BT: ``int[B, T]`` token ids, T at most n_positions.
            dtype: of the matrix products and the attention.
            generator: random numbers of dropout; None for no dropout.
            inputs: types and features of every token, if the network reads any.
            positions_BT: ``int64[B, T]``; None for 0, 1, ...
            seen_BTT: ``bool[B, T, T]``, attention mask with at least one token a row; None for causal.
        """
        batch, length = tokens_BT.shape
        arch = self.arch
        positions = torch.arange(length, device=tokens_BT.device) if positions_BT is None else positions_BT
        x_BTE = dropout(self.embedded(tokens_BT, positions, inputs, dtype), arch.embd_pdrop, generator)
        for block in self.blocks:
            qkv = block.queries_keys_values(x_BTE, dtype).view(batch, length, 3, arch.n_head, -1)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            attended = attention(q, k, v, seen_BTT)
            x_BTE = block.after_attention(x_BTE, attended.transpose(1, 2).flatten(2), dtype, generator)
        return self.transformer.ln_f(x_BTE)  # type: ignore[no-any-return]

    def next_token_logits(
        self, hidden_NE: torch.Tensor, dtype: torch.dtype = torch.float32, inputs: RuleInputs = NO_INPUTS
    ) -> torch.Tensor:
        """``[N, V]``, minus infinity for impossible tokens; exact GELU, as for the heads in section 9.1. Beyond the
        paper, actions with features gain a score by weights shared over actions."""
        logits = _head(filled_up(hidden_NE), self.lm_hidden, self.lm_head, dtype)[: hidden_NE.shape[0]]
        if inputs.choices is not None:
            scores = self.scores(hidden_NE, inputs.choices, dtype, inputs.cells)
            logits = logits + F.pad(scores, (0, self.arch.vocab_size - scores.shape[-1]))
        return _possible(logits, inputs.tokens)

    def scores(
        self, hidden_NE: torch.Tensor, choices: torch.Tensor, dtype: torch.dtype, cells_M: torch.Tensor | None = None
    ) -> torch.Tensor:
        """``[N, C]``: added to each action's logit by its features; 0 for an action without any. ``choices`` and
        ``cells_M`` as in ``RuleInputs``."""
        hidden = F.linear(filled_up(hidden_NE).to(dtype), self.choice_hidden.weight.to(dtype))[: hidden_NE.shape[0]]
        if cells_M is None and (hidden.is_cuda or torch.compiler.is_exporting()):  # they want shapes that stay
            unknown_NC = ~(choices != 0).any(-1)
            return self._scored(hidden.unsqueeze(-2), choices).masked_fill(unknown_NC, 0.0)
        choices, cells_M = cells_of(choices) if cells_M is None else (choices, cells_M)
        shape = len(hidden), self.arch.choices["actions"]
        given = hidden.index_select(0, cells_M // shape[1]), choices
        scores = self._scored(*(filled_up(each) for each in given))[: len(cells_M)]
        return scores.new_zeros(math.prod(shape)).index_copy(0, cells_M, scores).view(shape)

    def _scored(self, hidden: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        """``[...]`` scores of actions by their features ``[..., G]`` and the history's hidden layer."""
        inner = F.linear(features.to(hidden.dtype), self.choice_features.weight.to(hidden.dtype)) + hidden
        for weight in self.choice_layers.parameters():
            inner = inner + F.linear(activated(inner), weight.to(hidden.dtype))
        inner = activated(inner) if len(self.choice_layers) else F.gelu(inner)
        return F.linear(inner, self.choice_head.weight.to(hidden.dtype)).squeeze(-1)

    def outcome_logits(
        self, hidden_NE: torch.Tensor, dtype: torch.dtype = torch.float32, inputs: RuleInputs = NO_INPUTS
    ) -> torch.Tensor:
        """``[N, K]``, minus infinity for impossible outcomes."""
        logits = _head(filled_up(hidden_NE), self.val_hidden, self.val_head, dtype)[: hidden_NE.shape[0]]
        return _possible(logits, inputs.outcomes)


def activated(inner: torch.Tensor) -> torch.Tensor:
    """GELU of a layer normalised without weights: between the layers that score an action."""
    return F.gelu(F.layer_norm(inner, inner.shape[-1:]))


def _head(hidden_NE: torch.Tensor, first: nn.Linear, second: nn.Linear, dtype: torch.dtype) -> torch.Tensor:
    inner = F.gelu(F.linear(hidden_NE.to(dtype), first.weight.to(dtype)))
    return F.linear(inner, second.weight.to(dtype))


def _possible(logits: torch.Tensor, possible: torch.Tensor | None) -> torch.Tensor:
    """Logits with minus infinity where ``possible`` is False. Added as bits, which takes a CPU a quarter of the time of
    ``torch.where`` and stores nothing for the gradient."""
    if possible is None:
        return logits
    kind, bits = _MINUS_INFINITY[logits.dtype]
    return logits + possible.to(kind).sub_(1).bitwise_and_(bits).view(logits.dtype)


def attention(
    q_BHTD: torch.Tensor, k_BHTD: torch.Tensor, v_BHTD: torch.Tensor, seen_BTT: torch.Tensor | None = None
) -> torch.Tensor:
    """``[B, H, T, D]``: attention output under the mask ``bool[B, T, T]``, causal if None.

    Uses torch's fused attention except for short bfloat16 sequences on a CPU, where its backward pass takes eight times
    as long as explicit matrix products (docs/performance.md).
    """
    batch, heads, length, width = q_BHTD.shape
    if q_BHTD.device.type != "cpu" or q_BHTD.dtype != torch.bfloat16 or length > _SHORT:
        mask = None if seen_BTT is None else seen_BTT[:, None]
        return F.scaled_dot_product_attention(q_BHTD, k_BHTD, v_BHTD, mask, is_causal=mask is None)
    q, k, v = (x.reshape(batch * heads, length, width) for x in (q_BHTD, k_BHTD, v_BHTD))
    unseen = torch.full((length, length), -math.inf, dtype=q.dtype).triu_(1)
    if seen_BTT is not None:
        unseen = torch.zeros(seen_BTT.shape, dtype=q.dtype).masked_fill_(~seen_BTT, -math.inf)
        unseen = unseen.repeat_interleave(heads, dim=0)
    scores = torch.baddbmm(unseen, q, k.transpose(1, 2), alpha=1 / math.sqrt(width))
    weights = torch.softmax(scores, -1, dtype=torch.float32).to(q.dtype)
    return (weights @ v).view(batch, heads, length, width)


def dropout(x: torch.Tensor, probability: float, generator: torch.Generator | None) -> torch.Tensor:
    """Inverted dropout from an explicit generator; ``x`` itself without one."""
    if generator is None or probability == 0.0:
        return x
    kept = torch.empty_like(x).bernoulli_(1.0 - probability, generator=generator)
    return x * kept / (1.0 - probability)  # not kept / ...: bfloat16 would round the scale of all alike


def initialise(net: PolicyValueNet, seed: int) -> None:
    """Fresh weights in place, GPT-2's scheme: normal with ``initializer_range``, projections into the residual stream
    divided by sqrt(2 n_layer), biases 0, layer norms 1; the embedding of boards has its own."""
    generator = torch.Generator().manual_seed(seed & (2**63 - 1))
    scaled = net.arch.initializer_range / math.sqrt(2 * net.arch.n_layer)
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if name.startswith("board."):
                continue
            if name.endswith("bias"):
                parameter.zero_()
            elif parameter.ndim == 1:
                parameter.fill_(1.0)
            else:
                std = scaled if name.endswith("c_proj.weight") else net.arch.initializer_range
                parameter.copy_(torch.empty(parameter.shape).normal_(0.0, std, generator=generator))
        if net.arch.boards:
            net.board.initialise(generator)


def dtype_of(precision: str) -> torch.dtype:
    """torch's type for ``fp32`` or ``bf16``."""
    return {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]


def precision_of(precision: str, device: torch.device) -> str:
    """``fp32`` or ``bf16``; for ``auto`` the one that suits the device: bf16 on a GPU and on processors with
    instructions for it, where its products are three times as fast and more; elsewhere they are emulated."""
    if precision != "auto":
        return precision
    checks = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    fast = device.type == "cuda" or any(check() for check in checks if check is not None)
    return "bf16" if fast else "fp32"


def device_of(device: str, key: str = "device") -> torch.device:
    """The device called ``auto``, ``cpu`` or ``cuda[:index]``; ``ValueError`` naming ``key`` where there is none. On
    CUDA float32 then means float32 in convolutions too, which torch rounds to TF32 by default."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda"):
        if not torch.cuda.is_available():
            raise ValueError(f"{key}={device}: torch finds no CUDA device here; use {key}=cpu or {key}=auto")
        torch.backends.cudnn.allow_tf32 = False
    return torch.device(device)
