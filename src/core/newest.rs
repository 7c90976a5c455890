//! Queues that hold the newest of something.

use std::collections::VecDeque;

/// Puts something into a queue of the newest `most`.
pub(crate) fn keep<T>(queue: &mut VecDeque<T>, most: usize, item: T) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(item);
}
