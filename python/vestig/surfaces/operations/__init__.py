"""The operations by what they act on; `vestig.surfaces.operation` lists them all."""
