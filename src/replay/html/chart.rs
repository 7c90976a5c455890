//! Small pictures of figures: a rate with its interval, and how long people waited.

use maud::{Markup, html};

/// Ends of the bars of a histogram, in seconds; the last bar is open.
const ENDS_S: [i64; 13] = [0, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300];

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 150.0;
const BASE: f64 = 118.0;
const TOP: f64 = 16.0;

/// A rate on a line from 0 to 1, with the ends of its interval.
pub(super) fn rate(value: f64, ends: Option<(f64, f64)>) -> Markup {
    let x = |share: f64| format!("{:.1}", 3.0 + 74.0 * share.clamp(0.0, 1.0));
    html! {
        svg.rate viewBox="0 0 80 10" aria-hidden="true" {
            line.track x1="3" y1="5" x2="77" y2="5" {}
            @if let Some((low, high)) = ends { line.whisker x1=(x(low)) y1="5" x2=(x(high)) y2="5" {} }
            circle.value cx=(x(value)) cy="5" r="3" {}
        }
    }
}

/// How often people waited how long, from sorted waits in ms.
pub(super) fn histogram(title: &str, waits: &[i64]) -> Markup {
    let counts = counts(waits);
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = WIDTH / counts.len() as f64;
    let half = waits.get(waits.len() / 2);
    html! {
        figure.histogram {
            figcaption { b { (title) } @if let Some(half) = half { span.soft { " " (waits.len()) " answered, half of them within " (super::span(*half)) } } @else { span.soft { " none" } } }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(spoken(&counts)) {
                line.rule x1="0" y1=(BASE) x2=(WIDTH) y2=(BASE) {}
                @for (bar, n) in counts.iter().enumerate() {
                    @let tall = (BASE - TOP) * *n as f64 / most;
                    @let left = step * bar as f64;
                    @if *n > 0 {
                        rect class=(if bar == 0 { "bar early" } else { "bar" }) x=(format!("{:.1}", left + 2.0)) y=(format!("{:.1}", BASE - tall)) width=(format!("{:.1}", step - 4.0)) height=(format!("{tall:.1}")) rx="2" {
                            title { (label(bar)) ": " (n) }
                        }
                        text.count x=(format!("{:.1}", left + step / 2.0)) y=(format!("{:.1}", BASE - tall - 3.0)) text-anchor="middle" { (n) }
                    }
                }
                @for (bar, end) in ENDS_S.iter().enumerate() {
                    text.axis x=(format!("{:.1}", step * (bar + 1) as f64)) y=(BASE + 13.0) text-anchor="middle" { (short(*end)) }
                }
                text.axis x="0" y=(HEIGHT - 4.0) { "\u{2190} before the end of the turn" }
                text.axis x=(WIDTH) y=(HEIGHT - 4.0) text-anchor="end" { "seconds and minutes after it" }
            }
        }
    }
}

/// A number of seconds, from a minute on as minutes, so that neighbours do not touch.
fn short(end_s: i64) -> String {
    match end_s {
        ..60 => end_s.to_string(),
        90 => String::new(),
        _ => format!("{}m", end_s / 60),
    }
}

fn counts(waits: &[i64]) -> Vec<usize> {
    let mut counts = vec![0; ENDS_S.len() + 1];
    for wait in waits {
        let bar = ENDS_S.iter().position(|end| *wait < end * 1_000).unwrap_or(ENDS_S.len());
        if let Some(count) = counts.get_mut(bar) {
            *count += 1;
        }
    }
    counts
}

fn label(bar: usize) -> String {
    let end = |at: usize| ENDS_S.get(at).copied();
    match (bar.checked_sub(1).and_then(end), end(bar)) {
        (None, _) => "before the end of the turn".to_owned(),
        (Some(from), Some(to)) => format!("{from} to {to} s"),
        (Some(from), None) => format!("{from} s and more"),
    }
}

/// The same in words.
fn spoken(counts: &[usize]) -> String {
    let bars: Vec<String> = counts.iter().enumerate().filter(|(_, n)| **n > 0).map(|(bar, n)| format!("{}: {n}", label(bar))).collect();
    if bars.is_empty() { "no answers".to_owned() } else { bars.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_is_in_one_bar() {
        let waits = [-5_000, -1, 0, 4_999, 5_000, 299_999, 300_000, 9_999_999];
        let counts = counts(&waits);
        assert_eq!((counts[0], counts[1], counts[2], counts[12], counts[13]), (2, 2, 1, 1, 2));
        assert_eq!(counts.iter().sum::<usize>(), waits.len());
        assert_eq!(spoken(&counts), "before the end of the turn: 2, 0 to 5 s: 2, 5 to 10 s: 1, 240 to 300 s: 1, 300 s and more: 2");
    }
}
