"""The network as transformers knows it: ``PolicyValueModel.from_pretrained(checkpoint)`` (paper 001, section 9.1).

This is the reference path: the trunk is transformers' own ``GPT2Model``. Training and queries run
``learner.model.network.PolicyValueNet`` over the same parameters, and the tests hold both together.
"""

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from transformers import AutoConfig, AutoModel, GPT2Config, GPT2Model, GPT2PreTrainedModel
from transformers.utils.generic import ModelOutput

from learner.model.architecture import MODEL_TYPE
from learner.model.network import Heads, PolicyValueNet, activated
from learner.model.rule_inputs import about_actions


class PolicyValueConfig(GPT2Config):  # type: ignore[misc]
    """GPT-2's configuration, the number of outcome labels, and the game the network was made for."""

    model_type = MODEL_TYPE

    num_outcomes: int = 2
    game: str = ""
    game_options: dict | None = None  # type: ignore[type-arg]
    rules_version: int = 0
    vocabulary_fingerprint: str = ""
    tie_word_embeddings: bool = False
    resid_pdrop: float | int = 0.05
    embd_pdrop: float | int = 0.05
    attn_pdrop: float | int = 0.0
    token_types: int = 0
    features: dict | None = None  # type: ignore[type-arg]
    num_features: int = 0
    choices: dict | None = None  # type: ignore[type-arg]
    boards: dict | None = None  # type: ignore[type-arg]
    mask_tokens: bool = False
    mask_outcomes: bool = False


@dataclass
class PolicyValueOutput(ModelOutput):  # type: ignore[misc]
    """``B`` sequences, ``T`` positions, ``V`` tokens, ``K`` outcome labels."""

    loss: torch.Tensor | None = None
    """``float32[]``: 0.9 next-token + 0.1 outcome cross-entropy, with ``outcome`` given."""
    logits: torch.Tensor | None = None
    """``float32[B, T, V]``: the token that follows each position."""
    outcome_logits: torch.Tensor | None = None
    """``float32[B, T, K]``: the outcome label, seen from each position."""


class PolicyValueModel(Heads, GPT2PreTrainedModel):  # type: ignore[misc]
    """GPT-2 trunk with a two-layer head for the next token and one for the outcome; no biases in the heads."""

    config_class = PolicyValueConfig

    def __init__(self, config: PolicyValueConfig) -> None:
        super().__init__(config)
        self.transformer = GPT2Model(config)
        self.add_heads(config)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        outcome: torch.Tensor | None = None,
        types: torch.Tensor | None = None,
        features: torch.Tensor | None = None,
        possible_tokens: torch.Tensor | None = None,
        possible_outcomes: torch.Tensor | None = None,
    ) -> PolicyValueOutput:
        """Logits of every position, and the loss where ``outcome`` is given.

        Args:
            input_ids: ``int64[B, T]``, padded with ``eos`` behind the end.
            attention_mask: ``int[B, T]``, 1 for real tokens (``eos`` itself is one); None for no padding.
            outcome: ``int64[B]``, the outcome label of each sequence.
            types, features, possible_tokens, possible_outcomes: what the network reads of the rules, as
                ``learner.model.rule_inputs.RuleInputs`` has it for every position; all that it was trained with.
        """
        embedded = self.transformer.wte(input_ids)
        if types is not None:
            by_type = self.type_embeddings.weight.view(2, self.config.token_types, -1)
            embedded = embedded + by_type[0][types[..., 0]] + by_type[1][types[..., 1]]
        if features is not None and self.config.boards:
            embedded = embedded + self.board(features, embedded.dtype)
        elif features is not None:
            embedded = embedded + features.to(embedded.dtype) @ self.feature_embeddings.weight
        hidden = self.transformer(inputs_embeds=embedded, attention_mask=attention_mask).last_hidden_state
        logits = self.lm_head(F.gelu(self.lm_hidden(hidden)))
        if self.config.choices and features is not None:
            each = about_actions(features, self.config.choices).to(hidden.dtype)
            inner = self.choice_features(each) + self.choice_hidden(hidden)[..., None, :]
            for layer in self.choice_layers:
                inner = inner + layer(activated(inner))
            inner = activated(inner) if len(self.choice_layers) else F.gelu(inner)
            logits[..., : each.shape[-2]] += self.choice_head(inner)[..., 0].masked_fill(~each.bool().any(-1), 0.0)
        if possible_tokens is not None:
            logits = logits.masked_fill(~possible_tokens, float("-inf"))
        outcome_logits = self.val_head(F.gelu(self.val_hidden(hidden)))
        if possible_outcomes is not None:
            outcome_logits = outcome_logits.masked_fill(~possible_outcomes, float("-inf"))
        loss = None
        if outcome is not None:
            mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
            real = mask[:, 1:].bool()
            observation_loss = F.cross_entropy(logits[:, :-1][real], input_ids[:, 1:][real])
            outcomes = outcome[:, None].expand_as(real)
            outcome_loss = F.cross_entropy(outcome_logits[:, :-1][real], outcomes[real])
            loss = (outcome_loss + observation_loss * 9) / 10
        return PolicyValueOutput(loss=loss, logits=logits, outcome_logits=outcome_logits)


def pretrained_model(net: PolicyValueNet) -> PolicyValueModel:
    """The same network, with copies of its weights, as a transformers model."""
    model = PolicyValueModel(PolicyValueConfig(**asdict(net.arch)))
    model.load_state_dict(net.state_dict())
    return model


AutoConfig.register(MODEL_TYPE, PolicyValueConfig)
AutoModel.register(PolicyValueConfig, PolicyValueModel)
