//! Fields and values that are known but have no effect yet. They are refused by name: a field that is read and ignored would
//! promise something that does not happen.

use super::{
    decode::Fault,
    tree::{Node, Value, split},
};

/// Which documents an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Room,
    Persona,
    PrivacyGrant,
}

/// Path, the values that have no effect (all if none is listed), and the reason.
type NotYet = (&'static str, &'static [&'static str], &'static str);

const ROOM: &[NotYet] = &[
    ("status", &[], "it is written by Parlor, never read from a file"),
    ("spec.surface.discord", &[], "only the built-in web page is connected, use console: {}"),
    ("spec.surface.mesh", &[], "only the built-in web page is connected, use console: {}"),
    ("spec.projection", &[], "a room is not shown on a second platform yet"),
    ("spec.owners", &[], "on the web page the owner is who opens the owner's link"),
    ("spec.floor.rounds", &["EveryMember"], "a round that asks every member is not built yet; use Obligations"),
    ("spec.floor.startedBy", &[], "it belongs to rounds: EveryMember, which is not built yet"),
    ("spec.floor.turnTimeout", &[], "it belongs to rounds: EveryMember, which is not built yet"),
    ("spec.floor.parallel", &[], "members are asked one after the other"),
    ("spec.gate.kind", &["Model"], "lines that name nobody are judged inside the machine so far; use Embedded or Rules"),
    ("spec.gate.model", &[], "it belongs to gates with a model, which are not built yet"),
    ("spec.gate.threshold", &[], "it belongs to gates with a model, which are not built yet"),
    ("spec.gate.band", &[], "it belongs to gates with a model, which are not built yet"),
    ("spec.budget.postsPerMinute", &[], "posts are limited by spec.floor.cooldown and agentTurns only"),
    ("spec.tools", &[], "personas have no tools yet"),
    ("spec.context.history", &[], "what a model reads is bounded by maxTokens only"),
    ("spec.hibernateAfter", &[], "a room does not sleep yet"),
    ("spec.retention", &[], "nothing is deleted by age yet"),
    ("spec.deletionPolicy", &[], "the log of a removed room is always kept so far"),
    ("spec.failMode", &[], "a room whose policy cannot be read is always silent so far"),
    ("spec.runtime", &[], "a room is no pod here"),
    ("spec.reconciliationPaused", &[], "there is no controller here"),
];

const PERSONA: &[NotYet] = &[
    ("status", &[], "it is written by Parlor, never read from a file"),
    ("spec.avatar", &[], "pictures are not shown yet"),
    ("spec.tools", &[], "personas have no tools yet"),
    ("spec.skills", &[], "personas have no skills yet"),
    ("spec.models.gate", &[], "no gate calls a model yet"),
    ("spec.models.review", &[], "no draft is reviewed by a model yet"),
    ("spec.runtime", &["External"], "personas run inside Parlor only"),
];

const GRANT: &[NotYet] = &[("status", &[], "it is written by Parlor, never read from a file")];

/// Takes what has no effect yet out of the document, and reports it.
pub(crate) fn take_out(kind: Kind, node: &mut Node) -> Vec<Fault> {
    let table = match kind {
        Kind::Room => ROOM,
        Kind::Persona => PERSONA,
        Kind::PrivacyGrant => GRANT,
    };
    let mut faults = Vec::new();
    for (path, values, reason) in table {
        let steps = split(path);
        let Some(found) = node.get(&steps) else { continue };
        let value = match &found.value {
            _ if values.is_empty() => None,
            Value::Text(text) if values.contains(&text.as_str()) => Some(text.clone()),
            _ => continue,
        };
        let message = match value {
            Some(value) => format!("{value} has no effect yet: {reason}"),
            None if *path == "status" => format!("take it out: {reason}"),
            None => format!("has no effect yet, take it out: {reason}"),
        };
        faults.push(Fault { at: node.locate(&steps), path: steps.clone(), message });
        node.prune(&steps);
    }
    faults
}
