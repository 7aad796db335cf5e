//! The reason why the node does not get the token at once.

use std::time::Duration;

use ring_control::escape_control_characters;
use ring_control::lab2::{Grade, Status};
use ring_proto::lab2::State;
use ring_text::format_duration;

use super::super::view::Obstacle;

pub(super) fn obstacle(status: &Status, requires_quorum: bool) -> Obstacle {
    if let Some(why) = lasting_obstacle(status, requires_quorum) {
        return Obstacle::lasting(why);
    }
    let holder = status.clients.iter().find(|client| client.holds);
    match (&status.owner, holder) {
        (_, Some(holder)) => {
            let label = escape_control_characters(&holder.label);
            Obstacle::passing(format!("held by {label} on this machine"))
        }
        (Some(owner), None) if *owner == status.mac => Obstacle::passing(format!(
            "this node owns the token but may not grant it yet; its grade is {}",
            status.grade
        )),
        (Some(owner), None) => match &status.holder {
            Some(holder) => Obstacle {
                since: format!(
                    " for {}",
                    format_duration(Duration::from_nanos(holder.since_ns))
                ),
                ..Obstacle::passing(format!(
                    "held by {} on {owner}",
                    escape_control_characters(&holder.program)
                ))
            },
            None => Obstacle::passing(format!("{owner} owns the token")),
        },
        (None, None) if status.deaf => {
            Obstacle::lasting("no owner is known: this node hears no other member")
        }
        (None, None) => Obstacle::lasting("no owner is known"),
    }
}

/// Returns the reason why the node is not in a ring with a quorum; `None` if it is.
pub(crate) fn quorum_obstacle(status: &Status) -> Option<String> {
    if !status.is_in_ring() {
        Some(format!("this node is {}, and is in no ring", status.state))
    } else if let Some(missing) = missing_members(status) {
        Some(missing)
    } else if status.state == State::Owner.name() && status.grade != Grade::Quorum.name() {
        // The number of present members may still be sufficient, because members count as present for a while after
        // their last frame. The grade of the owner changes at once.
        Some(format!(
            "the grade of this node's token is {}",
            status.grade
        ))
    } else {
        None
    }
}

/// If too few members are present for a quorum, returns a text with the numbers of members.
fn missing_members(status: &Status) -> Option<String> {
    let quorum = &status.quorum;
    (quorum.present < quorum.needed).then(|| {
        format!(
            "{} of {} members are present, {} are needed",
            quorum.present, quorum.ring, quorum.needed
        )
    })
}

/// Returns the reason why this node cannot own the token until a person acts.
fn lasting_obstacle(status: &Status, requires_quorum: bool) -> Option<String> {
    Some(if status.link != "up" {
        format!("{} has no link", status.interface)
    } else if !status.stored {
        "ringd cannot write its state file, and this node cannot own the token until ringd can write it".to_owned()
    } else if status.paused {
        "this node is paused; ringctl resume ends the pause".to_owned()
    } else if status.unfit {
        "this node must not own the token: no member takes it from this node; ringctl resume ends this state".to_owned()
    } else if status.apart {
        "this node must not own the token: its times differ from the ring's by a factor of more than 10; start ringd \
         with the options of the other members"
            .to_owned()
    } else if requires_quorum && let Some(missing) = missing_members(status) {
        format!("no quorum is possible: {missing}")
    } else {
        return None;
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::{Obstacle, obstacle, quorum_obstacle};
    use ring_control::lab2::{HolderStatus, Status};

    type Change = fn(&mut Status);

    /// A case: a change of the status, and a part of the expected reason why there is no quorum.
    type Case = (fn(&mut Status), Option<&'static str>);

    #[test]
    fn a_node_has_a_quorum_if_it_is_in_a_ring_and_enough_members_are_present() {
        let cases: [Case; 6] = [
            (|_| {}, None),
            (
                |it| it.quorum.present = 1,
                Some("1 of 3 members are present, 2"),
            ),
            (|it| it.state = "LOOSER".to_owned(), Some("LOOSER")),
            (|it| it.deaf = true, Some("no ring")),
            (|it| it.state = "OWNER".to_owned(), Some("token is alone")),
            (
                |it| (it.state, it.grade) = ("OWNER".to_owned(), "quorum".to_owned()),
                None,
            ),
        ];
        for (change, expected) in cases {
            let mut status = example();
            change(&mut status);
            let found = quorum_obstacle(&status);
            let is_same = match (&found, expected) {
                (Some(found), Some(expected)) => found.contains(expected),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(is_same, "{found:?}, expected {expected:?}");
        }
    }

    #[test]
    fn each_obstacle_is_named() {
        let cases: [(Change, &str); 11] = [
            (|it| it.link = "is down".to_owned(), "eth0 has no link"),
            (|it| it.stored = false, "cannot write its state file"),
            (|it| it.paused = true, "paused; ringctl resume"),
            (|it| it.unfit = true, "no member takes it from this node"),
            (|it| it.apart = true, "the options of the other members"),
            (|it| it.quorum.present = 1, "no quorum is possible: 1 of"),
            (
                |it| it.owner = Some(it.mac.clone()),
                "this node owns the token but may not grant it yet; its grade is",
            ),
            (|_| {}, "02:00:00:00:00:02 owns the token"),
            (
                |it| {
                    it.holder = Some(HolderStatus {
                        program: "backup".to_owned(),
                        since_ns: 61_000_000_000,
                    });
                },
                "held by backup on 02:00:00:00:00:02 for 1m 1s",
            ),
            (
                |it| (it.owner, it.deaf) = (None, true),
                "hears no other member",
            ),
            (|it| it.owner = None, "no owner is known"),
        ];
        for (change, part) in cases {
            let mut status = example();
            status.clients.clear();
            change(&mut status);
            let Obstacle { text, since, .. } = obstacle(&status, true);
            let reason = text + &since;
            assert!(reason.contains(part), "{reason}");
        }
    }
}
