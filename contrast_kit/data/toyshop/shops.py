"""The two shops by name."""

from contrast_kit.data.toyshop.garden import OTHERSHOP
from contrast_kit.data.toyshop.shop import Department, Shop
from contrast_kit.data.toyshop.toys import TOYSHOP

SHOPS = {shop.name: shop for shop in (TOYSHOP, OTHERSHOP)}


def home(good: str) -> Shop:
    """The shop that has a good, or a kind of goods; they have none in common.

    >>> home("kite").name, home("gnome").name
    ('toyshop', 'othershop')
    """
    return next((shop for shop in SHOPS.values() if good in shop.department_of or good in shop.kinds), TOYSHOP)


__all__ = ["OTHERSHOP", "SHOPS", "TOYSHOP", "Department", "Shop", "home"]
