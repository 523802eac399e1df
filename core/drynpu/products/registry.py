"""The products of this release and of installed plugins: what is handed to find, load, write and export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from drynpu._errors import PluginError
from drynpu.plugins import from_plugins
from drynpu.products._product import Product
from drynpu.products.mindspore import MINDSPORE_PRODUCT
from drynpu.products.torch import TORCH_PRODUCT

PRODUCTS: tuple[Product, ...] = (MINDSPORE_PRODUCT, TORCH_PRODUCT)
"""The products of this release. PyTorch's comes last: a directory that no other recognises is read as one of its."""


def registered_products() -> tuple[Product, ...]:
    """
    Return the products that installed plugins add (``drynpu_products``), then the products of this release.

    A plugin that cannot be used is named in a line and left out.
    """
    return from_plugins(lambda plugins: join_products(plugins.products()))


def join_products(added: Sequence[tuple[str, object]]) -> tuple[Product, ...]:
    """
    Return *added* products, each with the plugin that it comes from, then the bundled ones.

    Raises
    ------
    PluginError
        A plugin gives something that is no `Product`, or one by a name that is taken.
    """
    accepted: list[Product] = []
    for place, product in added:
        if not isinstance(product, Product):
            raise PluginError(f"{place}: {product!r} is no Product (drynpu.products.Product)")
        if product.name in {other.name for other in (*PRODUCTS, *accepted)}:
            raise PluginError(f"{place}: there is a product called {product.name} already; choose another name")
        accepted.append(product)
    return (*accepted, *PRODUCTS)


def product_of(directory: Path, info: Mapping[str, object], products: Sequence[Product]) -> Product:
    """Return the first of *products* that recognises a directory; PyTorch's where none does."""
    return next((product for product in products if product.recognise(directory, info)), TORCH_PRODUCT)


def product_named(name: str) -> Product:
    """Return the product of a framework; PyTorch's layout where the framework has none."""
    return next((product for product in registered_products() if product.name == name), TORCH_PRODUCT)
