"""The public interface: `vestig.open` and class `Vestig`, with `store.graph` and `store.admin`."""
