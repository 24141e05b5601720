"""Side-by-side benchmarks: ratios of medians made in one run, kept as files under ``bench/results/``."""
