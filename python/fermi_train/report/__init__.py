"""What people and the server are told: progress file, logs, a bar, TensorBoard and W&B."""
