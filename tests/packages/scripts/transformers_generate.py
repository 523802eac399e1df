"""Generation with a small decoder; the argument names the implementation of attention."""

import json
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, set_seed
from transformers.utils import is_torch_npu_available

device = "npu" if is_torch_npu_available() else "cpu"
attention = sys.argv[1] if device == "npu" else "eager"
set_seed(3)
config = LlamaConfig(
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=61,
    max_position_embeddings=64,
    attn_implementation=attention,
    dtype=torch.float16,
)
model = LlamaForCausalLM._from_config(config).eval().to(device)
prompt = torch.randint(0, 61, (2, 7), generator=torch.Generator().manual_seed(1)).to(device)
mask = torch.ones_like(prompt)
with torch.no_grad():
    logits = model(prompt, attention_mask=mask).logits.float().cpu()
greedy = model.generate(prompt, attention_mask=mask, max_new_tokens=6, do_sample=False, pad_token_id=0)
set_seed(4)
drawn = model.generate(prompt, attention_mask=mask, max_new_tokens=6, do_sample=True, top_k=5, pad_token_id=0)
used = model.config._attn_implementation
print("RESULT", json.dumps({"logits": logits.flatten().tolist(), "device": device}))
print("TOKENS", json.dumps([greedy.cpu().tolist(), drawn.cpu().tolist()]), used)
