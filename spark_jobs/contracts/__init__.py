"""What every part uses: arguments, results, errors, settings, instants, identifiers, secrets. Pure Python."""
