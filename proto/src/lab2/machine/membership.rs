//! The rules for members that come, leave, pause or change their profile. The rules include the effects of these
//! changes on the token.

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, Digest, Frame, Kind, Profile};

use super::outbox::Content;
use super::timer::Timer;
use crate::lab2::confidence::promise_duration;
use crate::lab2::diagnostics::Diagnostics;
use crate::lab2::envelope::Envelope;
use crate::lab2::members::{AuthorStatus, ProfileChange, announced_pause};
use crate::lab2::{Event, HostName, Lab2, Pause, Reason, State};
use crate::time::Instant;

impl Lab2 {
    /// Notes the author of a frame. If the author is new, adds the author to the table. If the table is full, an OWNER
    /// replaces the member with the longest silence.
    pub(super) fn note_author(
        &mut self,
        envelope: Envelope,
        only_wants: bool,
        host_name: Option<HostName>,
    ) {
        let mac = envelope.from;
        let mut author = self.members.note_author(envelope, only_wants);
        if author == AuthorStatus::NoRoom && self.make_room() {
            author = self.members.note_author(envelope, only_wants);
        }
        if let Some(name) = host_name.filter(|&name| self.members.set_host_name(mac, name)) {
            // The event comes before the report of a new member, so that the report names the member.
            self.event(Event::MemberNamed { mac, name });
        }
        match author {
            AuthorStatus::Known => {}
            AuthorStatus::New => self.on_member_added(mac),
            AuthorStatus::NoRoom => self.event(Event::TableFull { author: mac }),
        }
    }

    /// Forgets failed handovers if the author of the frame was away before. The author's absence explains why the
    /// handovers failed.
    pub(super) fn note_return(&mut self, author: MacAddr) {
        let tenure = self.role.tenure_mut();
        let Some(tenure) = tenure.filter(|tenure| tenure.has_failed_offers()) else {
            return;
        };
        // A member that hears this node answers a heartbeat within this time.
        let while_away = promise_duration(&self.context, self.members.len());
        let since = self.context.now().before(while_away);
        let peer = self.members.peer(author);
        if peer.is_some_and(|peer| !peer.was_heard_since(since)) {
            tenure.forget_failed_offers();
        }
    }

    /// Reports a new member. An OWNER that was the only member can now hand the token over.
    pub(super) fn on_member_added(&mut self, mac: MacAddr) {
        let members = self.members.len();
        self.event(Event::MemberAdded { mac, members });
        self.schedule_idle_handover();
    }

    fn make_room(&mut self) -> bool {
        // If each node chose which member to remove, the tables would differ.
        if self.state() != State::Owner {
            return false;
        }
        let longest = self.members.longest_silent_member(&self.context);
        longest.is_some_and(|mac| {
            self.remove(&[mac], true);
            true
        })
    }

    /// Removes these members. `macs` must be sorted by address.
    fn remove(&mut self, macs: &[MacAddr], announce: bool) {
        if macs.is_empty() {
            return;
        }
        self.members.remove(&self.context, macs, announce);
        // Without this call, the memory would grow with every address that was ever in the table.
        self.diagnostics.forget(macs);
        self.on_members_gone(macs);
        let members = self.members.len();
        for &mac in macs {
            self.event(Event::MemberForgotten { mac, members });
        }
        // The ring's timeouts are medians over the present members, so they may have changed.
        self.review_constants();
    }

    fn on_members_gone(&mut self, macs: &[MacAddr]) {
        self.diagnostics
            .on_members_gone(&self.context, &mut self.out, macs);
        self.review_constants();
    }

    /// Removes a silent member at an operator's request, on this node and by broadcast on all other nodes.
    pub(super) fn forget(&mut self, mac: MacAddr) {
        let silence = self.members.silent_after(&self.context);
        if self.members.is_gone(&self.context, mac, silence) {
            self.remove(&[mac], true);
            self.members.broadcast_forget(&self.context, &mut self.out);
        }
    }

    /// Sends the announcements that are due. If this node is OWNER, first removes the members that were silent for
    /// `--forget-after`.
    pub(super) fn review_members(&mut self) {
        if self.state() == State::Owner {
            let forgotten = self.members.take_expired(&self.context);
            self.remove(&forgotten, true);
        }
        self.members.broadcast_forget(&self.context, &mut self.out);
        self.members.announce_mtu(&self.context, &mut self.out);
    }

    /// Handles FORGET: removes the members that it names. If FORGET names this node, this node broadcasts PING to show
    /// that it exists.
    pub(super) fn on_forget(&mut self, members: &[MacAddr]) {
        // The author may not hear a member that this node hears. Such a member stays.
        let gone = self.members.select_gone(&self.context, members);
        self.remove(&gone, false);
        if members.contains(&self.me()) {
            self.members.correct_own_entry(&self.context, &mut self.out);
        }
    }

    /// Handles PING: learns its author's ip, and compares the tables.
    pub(super) fn on_ping(&mut self, envelope: Envelope, digest: Digest, ip: [u8; 16]) {
        let (context, out) = (&self.context, &mut self.out);
        if let Some(before) = self.members.learn_ip(envelope.from, ip) {
            self.diagnostics
                .note_ip_change(context, out, envelope.from, (before, ip));
        }
        let state = self.role.state();
        self.members
            .compare_with_asker(context, out, state, (envelope, digest));
    }

    /// Handles LEAVING. If this node offered the token to the leaving member, the handover fails at once, without
    /// timeouts.
    pub(super) fn on_leaving(&mut self, envelope: Envelope) {
        let mac = envelope.from;
        self.members.leave(mac);
        self.event(Event::MemberLeft { mac });
        self.on_members_gone(&[mac]);
        self.review_constants();
        if let Some(offer) = self.role.offer()
            && offer.to() == mac
        {
            self.on_handover_failed(offer);
        }
    }

    /// Handles the pause notice of a frame, or its absence (`docs/reference/lab2/membership.md E8`).
    pub(super) fn note_pause(&mut self, envelope: Envelope, frame: &Frame<'_>) {
        let Some(card) = &frame.card else { return };
        if let Some(notice) = card.pause {
            self.set_announced_pause(envelope.from, announced_pause(notice, envelope.at));
        } else if frame.message.kind() == Kind::Ping && envelope.broadcast {
            self.set_announced_pause(envelope.from, None);
        }
    }

    /// Notes the pause that a member announces, and reports a change.
    pub(super) fn set_announced_pause(&mut self, mac: MacAddr, pause: Option<Pause>) {
        if !self.members.set_pause(mac, pause) {
            return;
        }
        self.event(match pause {
            Some(pause) => Event::MemberPaused {
                mac,
                left: pause.left(self.context.now()),
                reason: pause.reason,
            },
            None => Event::MemberResumed { mac },
        });
    }

    /// Handles the paused flag of a PING. If this node offered the token to a paused member, the handover fails at
    /// once.
    pub(super) fn on_paused(&mut self, from: MacAddr, paused: bool) {
        self.members.set_paused(from, paused);
        if !paused {
            self.set_announced_pause(from, None);
        }
        if let Some(offer) = self.role.offer()
            && paused
            && offer.to() == from
            // The limit is for two nodes with the same address, if one of them is paused and the other wants the token.
            // Without the limit, offers and failures would follow each other without a pause.
            && self.members.allow_paused_failure(&self.context, from)
        {
            self.on_handover_failed(offer);
        } else if !paused && self.can_hand_over() && !self.out.is_set(Timer::Handover) {
            self.schedule_handover();
        }
    }

    /// Handles a profile. Adapts this node's data and deadlines to the profile.
    pub(super) fn on_profile(&mut self, envelope: Envelope, profile: Profile) {
        let profile = (envelope.from, profile);
        let change = (self.members).learn_profile(&self.context, &mut self.out, profile);
        // A profile can be equal to the last profile and still have an effect, because the profile of a silent member
        // does not count.
        if change == ProfileChange::Same {
            return;
        }
        if change == ProfileChange::Changed {
            self.review_constants();
        }
        self.fit_data();
        self.shorten_deadlines(envelope.at);
    }

    /// If a member announced a shorter failure timeout, moves the next heartbeat and the end of the lease to earlier
    /// times.
    fn shorten_deadlines(&mut self, heard: Instant) {
        if self.state() != State::Owner {
            return;
        }
        let context = &self.context;
        let last_heartbeat = self.known.last_heartbeat().unwrap_or(heard);
        let waiter_timeout = self.members.shortest_waiter_timeout(context);
        let period = self.members.heartbeat_period(context);
        let deadlines = [
            // The lease starts at the earliest with the frame that announced the shorter timeout. Before this frame,
            // the member used its longer timeout.
            (Timer::Lease, last_heartbeat.max(heard) + waiter_timeout),
            (Timer::Heartbeat, last_heartbeat + period),
        ];
        for (timer, at) in deadlines {
            // A longer timeout changes nothing before the next heartbeat: the running deadlines are still safe.
            if self.out.due(timer).is_some_and(|due| at < due) {
                self.out.set(timer, at.max(context.now()));
            }
        }
    }

    /// Computes the timeouts of the ring, and decides which members are apart. If this node itself is apart, it uses
    /// the timeouts of the ring.
    pub(super) fn review_constants(&mut self) {
        self.members.update_ring_times(&self.context);
        // A lock with a quorum must not end because other members were restarted with a longer heartbeat.
        let apart = self.members.is_apart(&self.context.profile()) && !self.has_work_under_quorum();
        let was_apart = self.fitness.set_apart(apart);
        if apart || was_apart {
            self.apply_constants(apart);
        }
        if apart != was_apart {
            Diagnostics::note_own_apart(&mut self.out, apart);
            self.on_apart_changed(apart);
        }
        let apart_members = self.members.apart_members(&self.context);
        self.diagnostics.note_apart(&mut self.out, apart_members);
    }

    /// Whether a program on this node works, and the backing of the tenure is a quorum. During work under a quorum,
    /// this node does not count as apart.
    fn has_work_under_quorum(&self) -> bool {
        self.local_work.has_work() && self.backing() == Some(Backing::Quorum)
    }

    fn apply_constants(&mut self, apart: bool) {
        let constants = if apart {
            self.members.ring_constants(&self.context)
        } else {
            self.context.configured_constants().clone()
        };
        if constants == *self.context.constants() {
            return;
        }
        self.context.set_constants(constants);
        match self.state() {
            // The running timer was set with the old constants.
            State::Waiter => self.restart_waiter_timeout(),
            // While the link is down, the node asks no question.
            State::Looser if self.context.is_up() => self.schedule_question(),
            State::Looser | State::Owner | State::Generating => {}
        }
    }

    /// If this node is apart, gives up the token or the candidacy. Schedules the announcement of the change. Call this
    /// function when this node becomes apart, or is no longer apart.
    fn on_apart_changed(&mut self, apart: bool) {
        if !self.context.is_up() || self.is_shutting_down() {
            return;
        }
        if apart {
            // The outbox may still hold a frame that would make this node a candidate or OWNER.
            let stands = |it| matches!(it, Content::Candidacy(..) | Content::FirstHeartbeat(_));
            self.out.outbox.drop_all(stands);
            if matches!(self.state(), State::Owner | State::Generating) {
                self.enter_looser(Reason::Apart, self.token());
            }
            if self.state() == State::Looser {
                self.schedule_question();
            }
        }
        // The announcement leaves at a timeout that is due at once, because the current frame may already have caused
        // its two answers.
        self.out.set(Timer::Store, self.context.now());
    }
}
