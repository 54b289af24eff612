"""Tenants as their owner works with them."""
