"""Playing matches: coroutines, the queues that answer them, and the driver that leases them."""
