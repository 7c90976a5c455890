//! One room with its personas, as the other parts of Parlor want it, and the rules that hold between documents.

use std::{collections::BTreeMap, path::Path};

use parlor_core::{Audience, Budget, GateKind, Member, Millis, Mode, Policy};

use super::{check::Found, names::folded, persona::PersonaSpec, room};
use crate::ports::ModelRef;

/// The id of the holder of the owner's link on the web page (see `ports::Heard`).
pub(crate) const OWNER: &str = "owner";

/// A few hundred lines of chat: far more than an answer needs, and cheap where the provider caches prompts.
const CONTEXT_TOKENS: usize = 16_000;

/// A room whose documents fit.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomConfig {
    /// Resource name.
    pub name: String,
    /// Whether and until when it is muted.
    pub mute: Option<Mute>,
    /// The personas in turn order.
    pub personas: Vec<PersonaConfig>,
    /// Model tokens a day (UTC); `None` for no limit.
    pub tokens_per_day: Option<i64>,
    /// Millionths of a US dollar a day (UTC); `None` for no limit.
    pub cost_micros_per_day: Option<i64>,
    /// How much of the room a model reads, in tokens as estimated.
    pub context_tokens: usize,
    /// The only authenticated id that may know of the room: of a Direct room its person, of operators the owner.
    pub only: Option<String>,
    policy: Policy,
}

/// A mute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mute {
    /// Why.
    pub reason: String,
    /// It ends by itself then, ms since the epoch.
    pub until: Option<Millis>,
    /// Name of the file that declares it.
    pub file: String,
}

/// A persona as the drafter needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct PersonaConfig {
    /// Resource name.
    pub id: String,
    /// How it is called in the room.
    pub name: String,
    /// What people also call it.
    pub aliases: Vec<String>,
    /// The identity core, whole.
    pub identity: String,
    /// Lines that sound like it.
    pub examples: Vec<String>,
    /// Lines that it would never say.
    pub anti_examples: Vec<String>,
    /// The model that drafts.
    pub draft: ModelRef,
}

impl RoomConfig {
    /// The policy as of `now`, under the given revision: a mute that is over is no mute.
    #[must_use]
    pub fn policy(&self, revision: u64, now: Millis) -> Policy {
        Policy { revision, muted: self.muted(now).is_some(), ..self.policy.clone() }
    }

    /// The mute that its document declares as of `now`, if it does.
    #[must_use]
    pub fn muted(&self, now: Millis) -> Option<&Mute> {
        self.mute.as_ref().filter(|m| m.until.is_none_or(|until| until > now))
    }

    /// When the policy changes by itself after `now`: the end of a mute.
    #[must_use]
    pub fn next_change(&self, now: Millis) -> Option<Millis> {
        self.mute.as_ref()?.until.filter(|until| *until > now)
    }

    /// Who may know what is said in the room.
    #[must_use]
    pub fn audience(&self) -> Audience {
        self.policy.audience
    }

    /// Whether the room is stopped.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.policy.stopped
    }

    pub(crate) fn new(name: &str, file: &Path, spec: &room::RoomSpec, personas: Vec<PersonaConfig>) -> Self {
        let members = personas.iter().map(|p| Member { id: p.id.clone(), name: p.name.clone(), aliases: p.aliases.clone() }).collect();
        let defaults = Policy::new(members);
        let audience = match spec.audience {
            room::Audience::Public => Audience::Public,
            room::Audience::Room => Audience::Room,
            room::Audience::Direct => Audience::Direct,
            room::Audience::Operator => Audience::Operator,
        };
        let only = match spec.audience {
            room::Audience::Public | room::Audience::Room => None,
            room::Audience::Operator => Some(OWNER.to_owned()),
            // Nobody has the empty id.
            room::Audience::Direct => {
                Some(spec.surface.console.as_ref().and_then(|c| c.dm.as_ref()).map_or_else(String::new, |dm| dm.user_id.clone()))
            }
        };
        let whole = |n: Option<i32>, default: u32| n.and_then(|n| u32::try_from(n).ok()).unwrap_or(default);
        let policy = Policy {
            mode: match spec.mode {
                room::Mode::Shadow => Mode::Shadow,
                room::Mode::Active => Mode::Active,
            },
            stopped: spec.replicas == 0,
            audience,
            owners: vec![OWNER.to_owned()],
            gate: match spec.gate.kind {
                room::GateKind::Rules => GateKind::Rules,
                room::GateKind::Embedded => GateKind::Embedded,
            },
            timings: spec.floor.timings(),
            budget: Budget {
                unprompted_per_hour: whole(spec.budget.unprompted_per_hour, defaults.budget.unprompted_per_hour),
                agent_turns: whole(spec.floor.agent_turns, defaults.budget.agent_turns),
            },
            decline_emoji: spec.floor.decline_emoji.clone().unwrap_or_else(|| defaults.decline_emoji.clone()),
            answered_emoji: spec.floor.answered_emoji.clone().unwrap_or_else(|| defaults.answered_emoji.clone()),
            ..defaults
        };
        Self {
            name: name.to_owned(),
            mute: spec.mute.as_ref().map(|m| Mute {
                reason: m.reason.clone(),
                until: m.until.map(|u| u.0.as_millisecond()),
                file: file.file_name().map_or_else(String::new, |f| f.to_string_lossy().into_owned()),
            }),
            personas,
            tokens_per_day: spec.budget.tokens_per_day,
            context_tokens: spec.context.max_tokens.and_then(|n| usize::try_from(n).ok()).unwrap_or(CONTEXT_TOKENS),
            cost_micros_per_day: spec.budget.cost_per_day.and_then(|d| i64::try_from(d.micros).ok()),
            only,
            policy,
        }
    }
}

impl PersonaConfig {
    pub(crate) fn new(id: &str, spec: &PersonaSpec) -> Self {
        let draft = spec.models.draft.as_ref().map_or_else(
            || ModelRef { provider: "stub".to_owned(), name: "stub".to_owned(), ..ModelRef::default() },
            |m| ModelRef { provider: m.provider.word().to_owned(), name: m.name.clone(), params: m.params.clone() },
        );
        Self {
            id: id.to_owned(),
            name: spec.display_name.clone(),
            aliases: spec.aliases.clone(),
            identity: spec.identity.clone(),
            examples: spec.voice.examples.clone(),
            anti_examples: spec.voice.anti_examples.clone(),
            draft,
        }
    }
}

/// What does not fit between a room and its personas: a name that stands for two of them, an audience that is too wide for one.
pub(crate) fn between(spec: &room::RoomSpec, personas: &BTreeMap<usize, (&str, &PersonaSpec)>) -> Vec<Found> {
    let mut found = Vec::new();
    // Names of people are found in text by these; one that is taken twice would be answered by the wrong persona.
    let mut taken: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    for (i, (id, persona)) in personas {
        let path = format!("spec.members[{i}].persona");
        if let Some(most) = persona.max_audience
            && spec.audience.width() > most.width()
        {
            found.push((
                path.clone(),
                format!(
                    "{id:?} may be in rooms of audience {most:?} at most (spec.maxAudience of the Persona), this room is {:?}",
                    spec.audience
                ),
            ));
        }
        for name in std::iter::once(&persona.display_name).chain(&persona.aliases) {
            match taken.get(&folded(name)) {
                Some((other, other_id)) if other != i => {
                    found.push((path.clone(), format!("NameConflict: {name:?} is a name of {other_id:?} and of {id:?}; rename one")));
                }
                _ => {
                    taken.insert(folded(name), (*i, id));
                }
            }
        }
    }
    found
}
