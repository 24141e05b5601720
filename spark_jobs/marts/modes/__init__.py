"""How marts are kept current: a module for each mode, which begins with a class of :class:`Mode`; a registry."""
