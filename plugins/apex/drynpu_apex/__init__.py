"""
What the vendor's apex does: mixed precision, optimizers over combined tensors, data parallel training.

The vendor's apex is NVIDIA's with a patch (github.com/Ascend/apex, branch 5.0.0). Each room below answers for the
package of the same name; the facade ``apex`` has the names. What needs CUDA extensions there raises here as there.
"""

from __future__ import annotations
