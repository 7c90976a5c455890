//! Every metric of Parlor by name. A name or label is an interface: changing one is a breaking change.
//!
//! Labels are closed sets (provider, outcome, kind), so that no room, person or text can become one.

use std::time::Duration;

use prometheus::{Encoder as _, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry, TextEncoder};

/// The metrics could not be registered or written out.
#[derive(Debug, thiserror::Error)]
#[error("the metrics cannot be registered or written: {0}; this is a bug in Parlor")]
pub struct MetricsError(#[from] prometheus::Error);

/// The metrics of one process, in a registry of its own. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    model_calls: IntCounterVec,
    model_tokens: IntCounterVec,
    model_cost: IntCounterVec,
    model_seconds: HistogramVec,
    model_charges_lost: IntCounter,
}

impl Metrics {
    /// All metrics at zero.
    pub fn new() -> Result<Self, MetricsError> {
        let registry = Registry::new();
        let model_calls =
            counters(&registry, "parlor_model_calls_total", "Calls to model providers by outcome.", &["provider", "outcome"])?;
        let model_tokens = counters(
            &registry,
            "parlor_model_tokens_total",
            "Tokens as the provider counted them: input (cache misses), cached (cache hits), output.",
            &["provider", "kind"],
        )?;
        let model_cost =
            counters(&registry, "parlor_model_cost_microusd_total", "Cost of model calls, in millionths of a dollar.", &["provider"])?;
        let buckets = vec![0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 90.0];
        let seconds = HistogramOpts::new("parlor_model_call_seconds", "Length of model calls.").buckets(buckets);
        let model_seconds = HistogramVec::new(seconds, &["provider"])?;
        registry.register(Box::new(model_seconds.clone()))?;
        let model_charges_lost = IntCounter::new(
            "parlor_model_charges_lost_total",
            "Charges that could not be written; their reservations count in full after ten minutes.",
        )?;
        registry.register(Box::new(model_charges_lost.clone()))?;
        Ok(Self { registry, model_calls, model_tokens, model_cost, model_seconds, model_charges_lost })
    }

    /// One model call has ended.
    pub fn model_call(&self, provider: &'static str, outcome: &'static str, length: Duration) {
        self.model_calls.with_label_values(&[provider, outcome]).inc();
        self.model_seconds.with_label_values(&[provider]).observe(length.as_secs_f64());
    }

    /// Tokens and cost of one model call.
    pub fn model_spent(&self, provider: &'static str, input: u64, cached: u64, output: u64, cost_microusd: u64) {
        self.model_tokens.with_label_values(&[provider, "input"]).inc_by(input);
        self.model_tokens.with_label_values(&[provider, "cached"]).inc_by(cached);
        self.model_tokens.with_label_values(&[provider, "output"]).inc_by(output);
        self.model_cost.with_label_values(&[provider]).inc_by(cost_microusd);
    }

    /// A charge could not be written.
    pub fn model_charge_lost(&self) {
        self.model_charges_lost.inc();
    }

    /// The text exposition format, for `/metrics`.
    pub fn text(&self) -> Result<String, MetricsError> {
        let mut out = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

fn counters(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, MetricsError> {
    let made = IntCounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(made.clone()))?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_are_these() {
        let metrics = Metrics::new().expect("registers");
        metrics.model_call("stub", "act", Duration::from_millis(700));
        metrics.model_spent("stub", 1, 2, 3, 4);
        metrics.model_charge_lost();
        let text = metrics.text().expect("encodes");
        let kept: Vec<&str> = text.lines().filter(|l| !l.starts_with("# HELP") && !l.contains("_bucket{")).collect();
        insta::assert_snapshot!(kept.join("\n"));
    }

    #[test]
    fn a_filter_that_does_not_parse_says_where_it_came_from() {
        let told = crate::telemetry::init(crate::telemetry::LogFormat::Human, Some("info=loud=yes")).expect_err("no filter").to_string();
        assert!(told.contains("PARLOR_LOG"), "{told}");
    }
}
