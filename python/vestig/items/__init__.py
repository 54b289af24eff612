"""Values by key: how one is put, read, and removed."""
