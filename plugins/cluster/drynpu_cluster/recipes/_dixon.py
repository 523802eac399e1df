"""Dixon's test for an outlier: critical values at 99.5 %, as the vendor's recipe slow_rank has them."""

from __future__ import annotations

MOST_VALUES = 100
"""The test is tabulated up to so many values."""

RANGES = ((7, 1, 1), (10, 1, 2), (13, 2, 2), (MOST_VALUES, 2, 3))
"""
Up to how many values which distances are compared.

The value at the second place, counted from 0, to the smallest, and the value at the third place, counted from 1 from
the end.
"""

CRITICAL = tuple(
    thousandths / 1000
    for thousandths in (
        *(994, 920, 823, 744, 680, 723, 676, 638, 707, 675, 649, 672, 649, 629, 611, 595, 580, 568),
        *(556, 545, 536, 526, 519, 510, 503, 496, 489, 484, 478, 473, 468, 463, 458, 454, 450, 446),
        *(442, 439, 435, 432, 429, 425, 423, 420, 417, 414, 412, 409, 407, 405, 402, 400, 398, 396),
        *(394, 392, 391, 388, 387, 385, 383, 382, 380, 379, 377, 376, 374, 372, 371, 370, 368, 368),
        *(366, 365, 364, 363, 361, 360, 359, 358, 356, 356, 355, 353, 352, 352, 351, 350, 349, 348),
        *(347, 346, 345, 344, 344, 343, 341, 341),
    )
)
"""Of 3 to 100 values."""
