//! How far a rate may move when other rooms had been drawn: bootstrap over rooms (Efron 1979), seeded.

use super::{
    random::Random,
    score::{Counts, Rates},
};

/// Draws. The ends of a 95 % interval then move by well under a tenth of its width from seed to seed.
const DRAWS: usize = 1_000;

/// The 95 % interval of each rate, in the order of [`Rates`].
pub(super) fn intervals(rooms: &[Counts], seed: u64) -> [Option<(f64, f64)>; 7] {
    let mut random = Random::new(seed, "bootstrap");
    let mut drawn: [Vec<f64>; 7] = Default::default();
    for _ in 0..DRAWS {
        let mut sum = Counts::default();
        for _ in rooms {
            if let Some(room) = random.pick(rooms) {
                sum.add(room);
            }
        }
        for (values, rate) in drawn.iter_mut().zip(Rates::of(&sum).0) {
            values.extend(rate);
        }
    }
    drawn.map(|mut values| {
        values.sort_by(f64::total_cmp);
        Some((quantile(&values, 0.025)?, quantile(&values, 0.975)?))
    })
}

/// Between the two nearest values in proportion.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (*sorted.get(place.floor() as usize)?, *sorted.get(place.ceil() as usize)?);
    Some(low + (high - low) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_that_agree_have_no_spread_and_an_empty_rate_has_no_interval() {
        let room = Counts { sends: 10, duplicate: 1, ..Counts::default() };
        let got = intervals(&[room.clone(), room], 1);
        assert_eq!(got[0], Some((0.1, 0.1)));
        assert_eq!(got[1], None);
    }

    #[test]
    fn rooms_that_differ_spread_around_the_rate() {
        let rooms: Vec<Counts> = (0..20).map(|k| Counts { sends: 10, duplicate: k % 5, ..Counts::default() }).collect();
        let (low, high) = intervals(&rooms, 7)[0].unwrap();
        assert!(low > 0.1 && low < 0.2 && high > 0.2 && high < 0.3, "{low} {high}");
        assert_eq!(intervals(&rooms, 7), intervals(&rooms, 7));
    }
}
