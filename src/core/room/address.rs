//! Whom a line is for.

use super::{By, Room};
use crate::{Audience, Item, Mention, Place, Why, burst::To, hash::hash, people::Who};

/// Whom a line is for, with the people that it names or replies to.
pub(super) struct Addressed {
    pub(super) to: To,
    /// Everybody it names, at most as many as a line can name.
    pub(super) named: Vec<Who>,
    /// The one other person it goes to, if that shows.
    pub(super) target: Option<Who>,
    /// The one whose name opens it.
    pub(super) opened: Option<Who>,
    /// It replies to a line of somebody else.
    pub(super) links_others: bool,
}

impl Room {
    /// Reads the mentions and links of a line. From an agent only the platform's own mention of a persona counts.
    pub(super) fn address(&self, item: &Item, mentions: &[Mention], person: bool) -> Addressed {
        let mut to = To::default();
        let (mut typed, mut open, mut inside) = (0u64, 0u64, 0u64);
        let mut named = Vec::new();
        let mut opens = None;
        let mut opens_others = false;
        for m in mentions.iter().filter(|m| m.id != item.author.id) {
            if let Some(p) = self.persona_no(&m.id).filter(|p| self.is_member(*p)) {
                let bit = 1 << p.0;
                match m.pos {
                    Place::Typed => typed |= bit,
                    Place::Open => open |= bit,
                    Place::In => inside |= bit,
                }
                continue;
            }
            to.names = true;
            let who = self.people.find(&m.id);
            named.extend(who);
            if m.pos != Place::In {
                opens_others = true;
                opens = opens.or(who);
            }
        }
        let links = self.read_links(item, &mut to);
        (to.personas, to.why, to.others) = if !person {
            (typed, Some(Why::TypedMention), false)
        } else if typed | open != 0 {
            (typed | open, Some(if typed != 0 { Why::TypedMention } else { Why::NameOpens }), false)
        } else if self.policy.audience == Audience::Direct {
            (self.members.first().map_or(0, |p| 1 << p.0), Some(Why::DirectRoom), false)
        } else if opens_others {
            (0, None, true)
        } else if links.own != 0 {
            (links.own, Some(Why::ReplyToOwn), false)
        } else if links.others {
            (0, None, true)
        } else {
            (inside, Some(Why::NameInside), false)
        };
        Addressed { to, named, target: opens.or(links.target), opened: opens, links_others: links.others }
    }

    fn read_links(&self, item: &Item, to: &mut To) -> Links {
        let mut links = Links::default();
        for link in &item.links {
            let by = match &link.author {
                Some(id) => match self.persona_no(id) {
                    Some(p) => Some(By::Own(p)),
                    None => self.people.find(id).map(By::Person),
                },
                None => self.author_of(&link.id),
            };
            match by {
                Some(By::Own(p)) => links.own |= 1 << p.0,
                Some(By::Person(w)) if self.people.id(w) == item.author.id => to.own_link = true,
                Some(By::Person(w)) => {
                    links.others = true;
                    links.target = Some(w);
                }
                None => links.others = true,
            }
        }
        links
    }

    /// Who wrote a line, if it is recent.
    pub(super) fn author_of(&self, platform_id: &str) -> Option<By> {
        let h = hash(platform_id);
        self.recent.iter().rev().find(|(k, _)| *k == h).map(|(_, by)| *by)
    }
}

#[derive(Default)]
struct Links {
    own: u64,
    others: bool,
    target: Option<Who>,
}
