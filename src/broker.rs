//! Models, budgets, doorbell.
