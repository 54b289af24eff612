"""How a memory enters the store; only the store writes. `pipeline` names the stages."""
