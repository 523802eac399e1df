"""sentence-transformers: embeddings of a small encoder, which finds its device by itself."""

import json
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from sentence_transformers.util import cos_sim
from transformers import BertConfig, BertModel, BertTokenizerFast

torch.manual_seed(3)
marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
words = [*marks, "a", "small", "sentence", "about", "an", "npu", "and", "its", "kernels"]
Path("model").mkdir(exist_ok=True)
Path("vocab.txt").write_text("\n".join(dict.fromkeys(words)))
BertTokenizerFast("vocab.txt").save_pretrained("model")
config = BertConfig(
    hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=32, vocab_size=len(words)
)
BertModel(config).save_pretrained("model")
transformer = Transformer("model")
encoder = SentenceTransformer(modules=[transformer, Pooling(24)])
vectors = encoder.encode(["a small sentence", "about an npu and its kernels", "kernels"], convert_to_tensor=True)
near = cos_sim(vectors, vectors)
result = {"vectors": vectors.flatten().tolist(), "near": near.flatten().tolist(), "device": encoder.device.type}
print("RESULT", json.dumps(result))
