"""Quant-BnB as its paper has it: boxes of trees, bounded and narrowed by quantiles."""
