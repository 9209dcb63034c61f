//! The orders, as the service's own book has them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Pending,
    Paid,
    Declined,
}

#[derive(Debug, Default)]
pub(crate) struct Orders(Mutex<HashMap<u64, Order>>);

impl Orders {
    pub(super) fn place(&self, order: u64) {
        self.lock().entry(order).or_insert(Order::Pending);
    }

    pub(super) fn settle(&self, order: u64, outcome: Order) {
        self.lock().insert(order, outcome);
    }

    pub(crate) fn get(&self, order: u64) -> Option<Order> {
        self.lock().get(&order).copied()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Order>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
