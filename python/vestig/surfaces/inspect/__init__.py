"""The inspector: a page that shows why a memory came back, over the routes of HTTP."""
