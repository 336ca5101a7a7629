"""Pictures drawn from values: heat maps, curves and traces."""
