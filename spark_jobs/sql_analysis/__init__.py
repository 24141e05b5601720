"""The SQL of marts, rules and expectations: what it reads, and whether the mode of its mart is right for it."""
