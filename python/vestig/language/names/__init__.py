"""Names in a text: rules, known names, and the normal forms in which names are compared."""
