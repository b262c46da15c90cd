"""`python -m procguard` under the name by which some know the server."""
