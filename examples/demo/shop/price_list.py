"""Print the price list for the window."""

PRICES = {
    "rye bread": 5.20,
    "cardamom bun": 2.40,
    "birthday cake": 38.00,  # TODO: ask Sofie whether the price of butter changes this
}


def main() -> None:
    """Print one line for each thing we sell."""
    for item, price in PRICES.items():
        print(f"{item:<16} {price:6.2f}")


if __name__ == "__main__":
    main()
