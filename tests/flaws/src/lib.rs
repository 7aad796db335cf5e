#![forbid(unsafe_code)]
//! The machine that ships, spoilt on purpose: each module is a copy of `proto/src/lab2` with one
//! patch of `patches/` applied, that breaks the rule which the patch's head names. The build makes
//! the copies, so the sources that ship have no switch for it; a machine here is the one that
//! ships but for its few lines.
//!
//! `tests/caught.rs` proves that the simulator or the model checker finds each of them out.

/// Lints and pages are for the sources that ship. Nobody needs them of each copy once more.
#[cfg(any(clippy, doc))]
macro_rules! flaw {
    ($name:ident, $path:literal, $rule:literal) => {
        #[doc = $rule]
        pub mod $name {
            pub use ring_proto::lab2::Lab2;
        }
    };
}

/// One spoilt machine, with the eyes that the simulator and the checker look at it through.
#[cfg(not(any(clippy, doc)))]
macro_rules! flaw {
    ($name:ident, $path:literal, $rule:literal) => {
        #[doc = $rule]
        #[allow(
            unused,
            unreachable_pub,
            reason = "what a patch takes away may leave something unused"
        )]
        #[path = $path]
        pub mod $name;

        impl ringd::sim::Subject for $name::Lab2 {
            fn start(
                constants: ring_proto::lab2::Constants,
                durable: ring_proto::lab2::Durable,
            ) -> Self {
                Self::new(constants, durable)
            }

            fn recall(self, stamps: Vec<ring_proto::lab2::StoredStamp>) -> Self {
                self.with_stamps(stamps)
            }

            fn once(&self) -> Option<(u64, ring_proto::lab2::OnceStanding)> {
                self.once()
            }

            fn run_of(&self, job: ring_proto::lab2::JobName) -> Option<ring_proto::lab2::RunView> {
                self.runs().find(|run| run.stamp.name == job)
            }

            fn state(&self) -> ring_proto::lab2::State {
                self.state()
            }

            fn held(&self) -> Option<ring_codec::lab2::Token> {
                let owner = self.state() == ring_proto::lab2::State::Owner;
                self.token().filter(|_| owner)
            }

            fn may_use(&self) -> bool {
                self.may_use_token()
            }

            fn lease_until(
                &self,
                now: ring_proto::time::Instant,
            ) -> Option<ring_proto::time::Instant> {
                let settled = self.settled_at().is_some_and(|at| at <= now);
                self.lease_until()
                    .filter(|_| settled && self.may_use_token())
            }

            fn quorum_until(&self) -> Option<ring_proto::time::Instant> {
                let has_one = self.grade() == ring_proto::lab2::Grade::Quorum;
                self.grade_until().filter(|_| has_one)
            }

            fn digest(&self) -> ring_codec::lab2::Digest {
                self.digest()
            }

            fn members_in_order(&self) -> Option<usize> {
                let members: Vec<_> = self.members().map(|member| member.mac).collect();
                members.is_sorted_by(|a, b| a < b).then_some(members.len())
            }

            fn is_finished(&self) -> bool {
                self.is_finished()
            }
        }

        impl ring_model::Snapshot for $name::Lab2 {
            fn snapshot(&self) -> Vec<u8> {
                self.snapshot()
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/flaws.rs"));
