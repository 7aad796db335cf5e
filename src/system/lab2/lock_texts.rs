//! Texts for clients that do not get a lock or that lost their lock.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_control::escape_control_characters;
use ring_control::lab2::{ClientStatus, Grade, LockRequest, LossReason, RefusalReason};
use ring_proto::lab2::{HolderProgram, Lab2, RunView, STAMPS_MAX, Votes};
use ring_proto::time::Instant;
use ring_text::format_duration;

use crate::system::lab2::observe::QuorumHint;

/// The facts that the texts for clients mention.
#[derive(Debug)]
pub(super) struct TextInputs<'a> {
    pub machine: &'a Lab2,
    pub now: Instant,
    pub interface: &'a str,
    /// The lowest grade that clients may request.
    pub rule: Grade,
    /// The client that holds the token on this machine. Without a holder, the first client that waits for the token.
    pub first: Option<ClientStatus>,
}

impl TextInputs<'_> {
    /// Describes the reason why a request is refused.
    pub(super) fn refusal(&self, why: RefusalReason, request: &LockRequest) -> String {
        let waited = waited_text(request);
        match why {
            RefusalReason::Timeout | RefusalReason::Busy => format!("{waited}: {}", self.holder()),
            RefusalReason::Grade => format!("{waited}: {}", self.missing_members(request)),
            RefusalReason::Paused => {
                format!("{waited}: this node is paused; end the pause with ringctl resume")
            }
            RefusalReason::QueueFull => {
                format!("too many clients of this machine already wait; try again later ({waited})")
            }
            RefusalReason::AlreadyHeld => {
                "this program already runs under the token ($RINGD_LOCK or $RINGD_TOKEN), and would \
                 wait for its own end"
                    .to_owned()
            }
            RefusalReason::AlreadyRan => "the job has run in this period".to_owned(),
            RefusalReason::JobTableFull => full_job_table(self.machine.runs()),
            RefusalReason::Mtu => format!(
                "the MTU of {} is too small to announce a job to the members: raise it to at least 116 bytes",
                self.interface
            ),
            RefusalReason::LockTableFull => "the ring's table of named locks is full".to_owned(),
            RefusalReason::Rule => {
                let rule = self.rule.name();
                format!(
                    "ringd of this machine requires the grade {rule} for every lock; omit --require, or give \
                     --require {rule}"
                )
            }
            RefusalReason::Leaving => "ringd is shutting down".to_owned(),
        }
    }

    /// Describes the reason why a lock is lost.
    pub(super) fn loss(&self, why: LossReason, request: &LockRequest) -> String {
        match why {
            LossReason::Yield => "ringctl yield was called on this machine".to_owned(),
            LossReason::MaxHold => {
                let most = Duration::from_millis(request.max_hold_ms.unwrap_or_default());
                format!("--max-hold ({}) reached", format_duration(most))
            }
            LossReason::Shutdown => "ringd is shutting down".to_owned(),
            LossReason::StrongerToken => "another node has a stronger token".to_owned(),
            LossReason::Lease => {
                let lease = self.machine.shortest_waiter_timeout();
                format!(
                    "its lease ended: no heartbeat was sent for {}",
                    format_duration(lease)
                )
            }
            LossReason::NotStored => {
                "ringd cannot write its state file, so this node owns nothing until ringd can write it"
                    .to_owned()
            }
            LossReason::NobodyTakes => {
                "no other member takes the token from this node, so this node has given the token up".to_owned()
            }
            LossReason::Apart => times_differ(),
            LossReason::Grade => self.lost_grade(request),
            LossReason::Paused => "ringctl pause was called on this machine".to_owned(),
            LossReason::Removed => "the owner of the token has removed the lock".to_owned(),
            LossReason::Gone => "it was killed or ended before it released the lock".to_owned(),
            LossReason::Link => format!("{} has lost its link", self.interface),
        }
    }

    /// Describes the holder of the token.
    fn holder(&self) -> String {
        if !self.machine.is_link_up() {
            return format!("{} has no link", self.interface);
        }
        if !self.machine.is_stored() {
            return "ringd cannot write its state file, so this node owns nothing until ringd can write it"
                .to_owned();
        }
        if self.machine.is_apart() {
            return times_differ();
        }
        match (self.machine.owner(), &self.first) {
            (Some(owner), Some(client)) if client.holds && self.machine.is_own(owner) => {
                format!(
                    "held by {owner} ({}), this machine",
                    name(&client.label, client.pid)
                )
            }
            (Some(owner), _) if !self.machine.is_own(owner) => self.remote_holder(owner),
            (_, Some(client)) => {
                let does = if client.holds { "holds" } else { "waits for" };
                format!(
                    "{} on this machine {does} it",
                    name(&client.label, client.pid)
                )
            }
            (Some(_), None) => "this node may not grant the token yet".to_owned(),
            (None, None) => "no owner is known".to_owned(),
        }
    }

    /// Describes the holder on a different machine.
    fn remote_holder(&self, owner: MacAddr) -> String {
        let Some(HolderProgram { program, since }) = self.machine.work() else {
            return format!("{owner} owns the token, and has announced no program that holds it");
        };
        let held = format_duration(self.now.since(*since));
        format!(
            "held by {owner} ({}), for {held}",
            escape_control_characters(program)
        )
    }

    /// Describes the members that have not confirmed a lock again.
    fn lost_grade(&self, request: &LockRequest) -> String {
        let votes = self.machine.votes_at_grade_end();
        match request.require {
            Some(Grade::Quorum) if votes.ring > 1 => lost_quorum(votes),
            Some(Grade::Quorum) => self.missing_members(request),
            _ => not_all_heard(votes.confirmed, self.machine.count_recently_heard()),
        }
    }

    /// Lists the members that have not confirmed a tenure.
    fn missing_members(&self, request: &LockRequest) -> String {
        match request.require {
            Some(Grade::Quorum) => {
                let absent = QuorumHint {
                    ring: self.machine.votes().ring,
                    expected: self.machine.expected_members(),
                    silent: self.machine.silent_members().collect(),
                };
                no_quorum(self.machine.votes(), &absent)
            }
            _ => not_all_heard(
                self.machine.votes().confirmed,
                self.machine.count_recently_heard(),
            ),
        }
    }
}

/// Describes the end of the wait of a request.
pub(super) fn waited_text(request: &LockRequest) -> String {
    match request.wait_ms {
        Some(0) => "not waited for".to_owned(),
        Some(ms) => format!(
            "timed out after {}",
            format_duration(Duration::from_millis(ms))
        ),
        None => "refused".to_owned(),
    }
}

/// Returns a client's label. Escapes control characters for terminals, because the client has chosen the label.
fn name(label: &str, pid: Option<i32>) -> String {
    match (label, pid) {
        ("", Some(pid)) => format!("process {pid}"),
        ("", None) => "an unknown process".to_owned(),
        (label, _) => escape_control_characters(label),
    }
}

/// Explains that the ring remembers too many jobs, and that a job can be dropped by ending its period.
fn full_job_table(runs: impl Iterator<Item = RunView>) -> String {
    let left = |run: &RunView| run.stamp.period.saturating_sub(run.age);
    let first = runs.min_by_key(left).map(|run| {
        let left = Duration::from_secs(left(&run).as_secs() + 1);
        let name = run.stamp.name;
        format!(
            "; the period of {name} ends first, in {}",
            format_duration(left)
        )
    });
    format!(
        "the ring remembers {STAMPS_MAX} jobs, whose periods are not over{}; to end the period of a job that is no \
         longer needed, run ringctl once NAME --every 1ms -- true",
        first.unwrap_or_default()
    )
}

/// Describes a missing grade `all-heard`. `heard` is the number of other members that this node has heard lately.
fn not_all_heard(confirmed: usize, heard: usize) -> String {
    match heard {
        0 => "not all-heard: no other member was heard lately".to_owned(),
        others => {
            let all = others + 1;
            format!("not all-heard: {confirmed} of {all} confirmed, {all} needed")
        }
    }
}

fn times_differ() -> String {
    "the times of this node differ from the ring's by a factor of more than 10, so it owns nothing; start ringd with \
     the options of the other members"
        .to_owned()
}

fn lost_quorum(votes: Votes) -> String {
    let Votes {
        confirmed,
        ring,
        quorum,
    } = votes;
    format!(
        "the quorum was lost: {confirmed} of {ring} members confirmed the lock, {quorum} needed"
    )
}

fn no_quorum(votes: Votes, absent: &QuorumHint) -> String {
    let Votes {
        confirmed,
        ring,
        quorum,
    } = votes;
    if ring == 1 {
        // A node that knows no other member has no quorum, unless --ring-size is 1.
        return "no quorum: no other member is known; set the number of members with ringd --ring-size"
            .to_owned();
    }
    let silent = if absent.silent.count() > 0 {
        absent.to_string()
    } else {
        String::new()
    };
    format!("no quorum: {confirmed} of {ring} confirmed, {quorum} needed{silent}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_codec::MacAddr;
    use ring_codec::lab2::RunOutcome;
    use ring_proto::lab2::{Constants, JobName, Lab2, RunView, Stamp, Votes};
    use ring_proto::time::Instant;

    use super::{
        QuorumHint, TextInputs, full_job_table, lost_quorum, name, no_quorum, not_all_heard,
    };
    use crate::system::lab2::state_file::INITIAL_DURABLE;
    use ring_control::lab2::{Grade, LockRequest, LossReason};

    #[test]
    fn a_loss_is_explained_by_its_cause() {
        let constants = Constants {
            heartbeat: Duration::from_millis(50),
            ..Constants::default()
        };
        let machine = Lab2::new(constants, INITIAL_DURABLE);
        let text_inputs = TextInputs {
            machine: &machine,
            now: Instant::from_nanos(0),
            rule: Grade::Alone,
            interface: "eth0",
            first: None,
        };
        for (why, part) in [
            (LossReason::Lease, "no heartbeat was sent for 200 ms"),
            (LossReason::NotStored, "cannot write its state file"),
            (LossReason::NobodyTakes, "no other member takes the token"),
            (LossReason::Apart, "options of the other members"),
            (LossReason::Link, "eth0 has lost its link"),
        ] {
            let text = text_inputs.loss(why, &LockRequest::default());
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_clients_label_is_harmless_for_a_terminal() {
        assert_eq!(name("Bob's \u{1b}[2J\n", Some(7)), r"Bob's \u{1b}[2J\n");
        assert_eq!(name("", Some(7)), "process 7");
    }

    #[test]
    fn a_full_table_of_jobs_is_explained_with_a_remedy() {
        let run = |name, hours, age| RunView {
            stamp: Stamp {
                name: JobName::new(name).expect("a name"),
                progress: 1,
                run: 0,
                runner: MacAddr([2, 0, 0, 0, 0, 9]),
                outcome: RunOutcome::Done,
                period: Duration::from_secs(3600) * hours,
            },
            age: Duration::from_secs(age),
            before: None,
        };
        let runs = [run("long", 20, 71_000), run("soon", 1, 3595)];
        let text = full_job_table(runs.into_iter());
        assert!(
            text.contains("the period of soon ends first, in 6 s;"),
            "{text}"
        );
        assert!(
            text.ends_with("ringctl once NAME --every 1ms -- true"),
            "{text}"
        );
    }

    fn absent(expected: usize, silent: &[u8]) -> QuorumHint {
        let macs = silent.iter().map(|&n| MacAddr([2, 0, 0, 0, 0, n]));
        QuorumHint {
            ring: 4,
            expected,
            silent: macs.collect(),
        }
    }

    #[test]
    fn a_missing_quorum_names_silent_members_and_how_to_forget_them() {
        let votes = Votes {
            confirmed: 1,
            ring: 4,
            quorum: 3,
        };
        let forgets = no_quorum(votes, &absent(3, &[8, 9]));
        let text = "3 needed; silent: 02:00:00:00:00:08, 02:00:00:00:00:09; start ringd there, or, if they are \
                    gone for good, run ringctl forget 02:00:00:00:00:08; ringctl forget 02:00:00:00:00:09";
        assert!(forgets.ends_with(text), "{forgets}");
        let many = no_quorum(votes, &absent(3, &[5, 6, 7, 8, 9, 10]));
        assert!(
            many.contains("02:00:00:00:00:08, and 2 others; start ringd there"),
            "{many}"
        );
        // The expected number counts, even if not all of these members are known.
        let starts = no_quorum(votes, &absent(4, &[9]));
        assert!(
            starts.contains("--ring-size") && !starts.contains("forget"),
            "{starts}"
        );
    }

    #[test]
    fn a_missing_quorum_is_counted() {
        let votes = |confirmed, ring, quorum| Votes {
            confirmed,
            ring,
            quorum,
        };
        assert_eq!(
            no_quorum(votes(2, 4, 3), &absent(3, &[])),
            "no quorum: 2 of 4 confirmed, 3 needed"
        );
        assert_eq!(
            lost_quorum(votes(1, 3, 2)),
            "the quorum was lost: 1 of 3 members confirmed the lock, 2 needed"
        );
        assert!(no_quorum(votes(1, 1, 1), &absent(0, &[])).contains("--ring-size"));
        assert_eq!(
            not_all_heard(1, 2),
            "not all-heard: 1 of 3 confirmed, 3 needed"
        );
        assert!(not_all_heard(1, 0).contains("no other member"));
    }
}
