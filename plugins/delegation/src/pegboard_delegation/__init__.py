"""Tools that give work to other agents: workers side by side, and handing a conversation over."""
