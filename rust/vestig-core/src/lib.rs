//! Memory-mapped projection and ranking kernels of Vestig.
