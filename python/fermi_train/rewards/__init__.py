"""Rewards by name: how good an answer is. `module:function` names one of one's own."""
