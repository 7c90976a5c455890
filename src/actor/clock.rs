//! The shell's clock: the one place that reads wall time. A room's time never goes back, whatever the machine's clock does.

use std::time::{SystemTime, UNIX_EPOCH};

use parlor_core::Millis;

/// Milliseconds since the Unix epoch by the machine's clock. Other processes take this as an argument.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
pub fn wall_ms() -> Millis {
    // A clock before 1970 or past the year 292,278,994 reads as an end of the scale; a room's own clock levels it.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| Millis::try_from(d.as_millis()).unwrap_or(Millis::MAX))
}

/// The time of one room: wall time that stands still where the machine's clock jumps back.
#[derive(Debug)]
pub(super) struct RoomClock {
    wall: fn() -> Millis,
    last_ms: Millis,
}

impl RoomClock {
    pub(super) fn new(wall: fn() -> Millis) -> Self {
        Self { wall, last_ms: Millis::MIN }
    }

    /// Not before this, for inputs that an earlier boot has stored.
    pub(super) fn not_before(&mut self, ms: Millis) {
        self.last_ms = self.last_ms.max(ms);
    }

    pub(super) fn now_ms(&mut self) -> Millis {
        self.last_ms = self.last_ms.max((self.wall)());
        self.last_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_where_the_machine_clock_is_behind() {
        let mut clock = RoomClock::new(|| 5_000);
        assert_eq!(clock.now_ms(), 5_000);
        clock.not_before(9_000);
        assert_eq!(clock.now_ms(), 9_000);
        clock.not_before(1);
        assert_eq!(clock.now_ms(), 9_000);
    }

    #[test]
    fn wall_time_is_in_milliseconds() {
        // 2020 to 2100, in ms: seconds or microseconds would both fall outside.
        assert!((1_577_836_800_000..4_102_444_800_000).contains(&wall_ms()));
    }
}
