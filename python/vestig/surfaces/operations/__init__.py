"""The operations by what they act on; `vestig.surfaces.table` lists them all."""
