"""How several ranks train one model: each strategy is what it is given, and a proof of what each rank holds."""
