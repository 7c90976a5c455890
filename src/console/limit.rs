//! How often somebody may act: a bucket of tokens for each, in a table of bounded size.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use parlor_core::Millis;

/// The most buckets kept. At about 100 bytes each this is under half a megabyte; a full bucket says nothing and is dropped.
const BUCKETS_MAX: usize = 4096;

/// How often: `burst` at once, then one each `refill_ms`.
#[derive(Clone, Copy)]
pub(super) struct Rate {
    pub(super) burst: u32,
    pub(super) refill_ms: Millis,
}

/// Lines, edits, deletes and reactions of one person. Somebody who types fast sends five lines in two seconds; nobody keeps
/// two a second up.
pub(super) const ACTS: Rate = Rate { burst: 20, refill_ms: 500 };
/// Typing notices of one person; the page sends one per 3 s.
pub(super) const TYPING: Rate = Rate { burst: 4, refill_ms: 1_000 };
/// New people, for the whole console: names cost a look into the ledger.
pub(super) const ENTRIES: Rate = Rate { burst: 40, refill_ms: 1_000 };

/// Counts what was done.
#[derive(Default)]
pub(super) struct Limits {
    buckets: Mutex<HashMap<(String, &'static str), Bucket>>,
}

struct Bucket {
    tokens: f64,
    at: Millis,
    rate: Rate,
}

impl Bucket {
    fn fill(&mut self, now: Millis) {
        let gained = (now - self.at).max(0) as f64 / self.rate.refill_ms as f64;
        self.tokens = (self.tokens + gained).min(f64::from(self.rate.burst));
        self.at = now;
    }
}

impl Limits {
    /// Takes one token for `who`; else says in how many ms there is one.
    pub(super) fn take(&self, who: &str, what: &'static str, rate: Rate, now: Millis) -> Result<(), Millis> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (who.to_owned(), what);
        if buckets.len() >= BUCKETS_MAX && !buckets.contains_key(&key) {
            buckets.retain(|_, bucket| {
                bucket.fill(now);
                bucket.tokens < f64::from(bucket.rate.burst)
            });
            if buckets.len() >= BUCKETS_MAX {
                return Err(rate.refill_ms);
            }
        }
        let bucket = buckets.entry(key).or_insert(Bucket { tokens: f64::from(rate.burst), at: now, rate });
        bucket.fill(now);
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        Err(((1.0 - bucket.tokens) * rate.refill_ms as f64).ceil() as Millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { burst: 3, refill_ms: 1_000 };

    #[test]
    fn a_burst_then_one_at_a_time_each_for_themselves() {
        let limits = Limits::default();
        for _ in 0..3 {
            limits.take("ada", "act", RATE, 0).unwrap();
        }
        assert_eq!(limits.take("ada", "act", RATE, 0), Err(1_000));
        limits.take("ben", "act", RATE, 0).unwrap();
        limits.take("ada", "typing", RATE, 0).unwrap();
        assert_eq!(limits.take("ada", "act", RATE, 400), Err(600));
        limits.take("ada", "act", RATE, 1_000).unwrap();
        assert!(limits.take("ada", "act", RATE, 1_000).is_err());
    }

    #[test]
    fn the_table_is_bounded_and_drops_those_who_rest() {
        let limits = Limits::default();
        for n in 0..BUCKETS_MAX {
            limits.take(&n.to_string(), "act", RATE, 0).unwrap();
        }
        assert!(limits.take("late", "act", RATE, 0).is_err());
        limits.take("late", "act", RATE, 1_000).unwrap();
    }
}
