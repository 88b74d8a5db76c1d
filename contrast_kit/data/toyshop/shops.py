"""The two shops by name."""

from contrast_kit.data.toyshop.garden import OTHERSHOP
from contrast_kit.data.toyshop.shop import Department, Shop
from contrast_kit.data.toyshop.toys import TOYSHOP

SHOPS = {shop.name: shop for shop in (TOYSHOP, OTHERSHOP)}

__all__ = ["OTHERSHOP", "SHOPS", "TOYSHOP", "Department", "Shop"]
