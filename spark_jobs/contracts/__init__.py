"""Pure Python contracts: lake specs, instants, job arguments and results, settings, errors."""
