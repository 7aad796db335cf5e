//! Fields of Lab2.

use std::net::Ipv6Addr;

use ring_codec::lab2::{
    Card, Digest, Frame, LockRecord, LocksStanding, Message, Profile, Promise, Stamp, Token,
};

use super::super::tshark::Fields;

/// Returns the fields of a frame.
pub(in super::super) fn fields(frame: &Frame<'_>, bytes: &[u8]) -> Fields {
    let mut fields = Fields::default();
    fields.put("lab2.kind", frame.message.kind() as u8);
    fields.put("lab2.reserved", 0);
    fields.put("lab2.messageAuthorMAC", frame.author);
    put_message(&mut fields, &frame.message);
    if let Some(profile) = frame.profile {
        put_profile(&mut fields, profile);
    }
    if let Some(card) = frame.card {
        put_card(&mut fields, &card);
    }
    if let Some(standing) = frame.locks {
        put_standing(&mut fields, standing);
    }
    if frame.preference != 0 {
        fields.put("lab2.preference", frame.preference);
    }
    fields.put_bytes("lab2.padding", &bytes[frame.encoded_len()..]);
    fields
}

fn put_message(fields: &mut Fields, message: &Message<'_>) {
    match *message {
        Message::TakeToken {
            token,
            digest,
            data,
        } => put_offer(fields, token, digest, data),
        Message::TokenIsHere {
            token,
            digest,
            data,
            beat,
        } => {
            put_offer(fields, token, digest, data);
            if let Some(beat) = beat {
                fields.put("lab2.beat", beat);
            }
        }
        Message::Ping {
            digest,
            ip,
            promise,
            paused,
        } => {
            put_digest(fields, digest);
            fields.put("lab2.ip", Ipv6Addr::from(ip));
            put_ping_trailer(fields, promise, paused);
        }
        Message::TokenWasHereRecently { token, holder } => {
            put_token(fields, "lab2.", token);
            fields.put("lab2.holder", holder);
        }
        Message::GeneratingToken { token } => put_token(fields, "lab2.", token),
        Message::RingMembers { digest, members } => {
            put_digest(fields, digest);
            fields.put("lab2.count", members.len());
            for member in members {
                fields.put("lab2.member.mac", member.mac);
                fields.put("lab2.member.ip", Ipv6Addr::from(member.ip));
            }
        }
        Message::Forget { members } => {
            fields.put("lab2.count", members.len());
            for mac in members {
                fields.put("lab2.member.mac", mac);
            }
        }
        Message::Stamps {
            token,
            serial,
            purpose,
            digest,
            stamps,
        } => {
            put_token(fields, "lab2.", token);
            fields.put("lab2.stamps.serial", serial);
            fields.put("lab2.stamps.purpose", purpose as u8);
            fields.put("lab2.stamps.stampsHash", digest);
            fields.put("lab2.stamps.stampCount", stamps.len());
            for stamp in stamps {
                put_stamp(fields, stamp);
            }
        }
        Message::Locks {
            token,
            serial,
            purpose,
            grade,
            digest,
            from,
            to,
            locks,
        } => {
            put_token(fields, "lab2.", token);
            fields.put("lab2.locks.serial", serial);
            fields.put("lab2.locks.locksPurpose", purpose as u8);
            fields.put("lab2.locks.grade", grade);
            fields.put("lab2.locks.locksHash", digest);
            fields.put("lab2.locks.from", from);
            fields.put("lab2.locks.to", to);
            fields.put("lab2.locks.lockCount", locks.len());
            for lock in locks {
                put_lock(fields, lock);
            }
        }
        Message::LocksQuestion { grade, from, sums } => {
            fields.put("lab2.locks.grade", grade);
            fields.put("lab2.locks.from", from);
            for sum in sums {
                fields.put("lab2.locks.sums", sum);
            }
        }
        Message::Survey { .. } | Message::Report { .. } => put_questions(fields, message),
        Message::Probe { .. } | Message::Measures { .. } => put_measurement(fields, message),
        Message::WhereIsToken | Message::WantToken | Message::Leaving => {}
    }
}

fn put_questions(fields: &mut Fields, message: &Message<'_>) {
    match *message {
        Message::Survey {
            serial,
            purpose,
            probes,
            span,
            members,
        } => {
            fields.put("lab2.survey.serial", serial);
            fields.put("lab2.survey.surveyPurpose", purpose as u8);
            fields.put("lab2.survey.probes", probes);
            fields.put("lab2.survey.span", span);
            fields.put("lab2.survey.count", members.len());
            for mac in members {
                fields.put("lab2.member.mac", mac);
            }
        }
        Message::Report { serial, report } => {
            let work = report.holder.map(|work| (work.held, work.program));
            let (held, holder) = work.unwrap_or((u64::MAX, ""));
            fields.put("lab2.report.serial", serial);
            fields.put("lab2.report.up", report.up);
            fields.put("lab2.report.wall", report.wall);
            fields.put("lab2.report.lateness", report.lateness);
            fields.put("lab2.report.held", held);
            fields.put("lab2.report.nodeState", report.state);
            fields.put("lab2.report.nodeGrade", report.grade);
            fields.put("lab2.report.health", report.health);
            fields.put("lab2.report.busy", u8::from(report.busy));
            fields.put("lab2.report.requiredGrade", report.required_grade);
            fields.put("lab2.report.troubleCount", report.trouble_count);
            fields.put("lab2.report.holderLen", holder.len());
            fields.put("lab2.report.troublesLen", report.troubles.len());
            if !holder.is_empty() {
                fields.put_text("lab2.report.holderName", holder.as_bytes());
            }
            if !report.troubles.is_empty() {
                fields.put_text("lab2.report.troubles", report.troubles.as_bytes());
            }
        }
        _ => {}
    }
}

fn put_measurement(fields: &mut Fields, message: &Message<'_>) {
    match *message {
        Message::Probe {
            surveyor,
            serial,
            number,
            is_answer,
            sent_at,
            padding,
        } => {
            fields.put("lab2.probe.surveyorMAC", surveyor);
            fields.put("lab2.probe.serial", serial);
            fields.put("lab2.probe.number", number);
            fields.put("lab2.probe.isAnswer", u8::from(is_answer));
            fields.put("lab2.probe.sentAt", sent_at);
            fields.put("lab2.probe.paddingLen", padding.len());
            fields.put_bytes("lab2.probe.padding", padding);
        }
        Message::Measures {
            serial,
            lateness,
            large_len,
            broadcasts_sent,
            rows,
            measures,
        } => {
            fields.put("lab2.measures.serial", serial);
            fields.put("lab2.measures.lateness", lateness);
            fields.put("lab2.measures.largeLen", large_len);
            fields.put("lab2.measures.broadcastsSent", broadcasts_sent);
            fields.put("lab2.measures.rows", rows);
            fields.put("lab2.measures.rowCount", measures.len());
            for row in measures {
                fields.put("lab2.measure.peerMAC", row.peer);
                fields.put("lab2.measure.sent", row.sent);
                fields.put("lab2.measure.answered", row.answered);
                fields.put("lab2.measure.arrived", row.arrived);
                fields.put("lab2.measure.largeSent", row.large_sent);
                fields.put("lab2.measure.largeAnswered", row.large_answered);
                fields.put("lab2.measure.largeArrived", row.large_arrived);
                fields.put("lab2.measure.broadcastsArrived", row.broadcasts_arrived);
                fields.put("lab2.measure.shortest", row.shortest);
                fields.put("lab2.measure.mean", row.mean);
                fields.put("lab2.measure.longest", row.longest);
                fields.put("lab2.measure.jitter", row.jitter);
            }
        }
        _ => {}
    }
}

fn put_token(fields: &mut Fields, group: &str, token: Token) {
    fields.put(&format!("{group}token"), token);
    fields.put(&format!("{group}progress"), token.progress);
    fields.put(&format!("{group}authorMAC"), token.author);
    fields.put(&format!("{group}authorTokenNum"), token.number);
}

fn put_digest(fields: &mut Fields, digest: Digest) {
    fields.put("lab2.ringSize", digest.size);
    fields.put("lab2.ringMembersHash", digest.hash);
}

fn put_offer(fields: &mut Fields, token: Token, digest: Digest, data: &[u8]) {
    put_token(fields, "lab2.", token);
    put_digest(fields, digest);
    fields.put("lab2.dataLen", data.len());
    fields.put_bytes("lab2.data", data);
}

fn put_ping_trailer(fields: &mut Fields, promise: Option<Promise>, paused: bool) {
    if promise.is_none() && !paused {
        return;
    }
    let has_promise = u8::from(promise.is_some());
    fields.put("lab2.flags", has_promise + 2 * u8::from(paused));
    fields.put("lab2.flags.promise", has_promise);
    fields.put("lab2.flags.paused", u8::from(paused));
    if let Some(promise) = promise {
        put_token(fields, "lab2.promise.", promise.token);
        fields.put("lab2.promise.beat", promise.beat);
        fields.put("lab2.promise.lasts", promise.lasts);
    }
}

fn put_stamp(fields: &mut Fields, stamp: &Stamp) {
    fields.put_text("lab2.stamp.name", before_zeros(&stamp.name));
    fields.put("lab2.stamp.progress", stamp.progress);
    fields.put("lab2.stamp.run", stamp.run);
    fields.put("lab2.stamp.runnerMAC", stamp.runner);
    fields.put("lab2.stamp.outcome", stamp.outcome);
    fields.put("lab2.stamp.period", stamp.period);
    fields.put("lab2.stamp.age", stamp.age);
    fields.put("lab2.stamp.before", stamp.before);
}

fn put_lock(fields: &mut Fields, lock: &LockRecord) {
    fields.put_text("lab2.lock.lockName", before_zeros(&lock.name));
    fields.put("lab2.lock.memberMAC", lock.member);
    fields.put("lab2.lock.session", lock.session);
    fields.put("lab2.lock.mode", lock.mode);
    fields.put("lab2.lock.grade", lock.grade);
    fields.put("lab2.lock.state", lock.state);
    fields.put("lab2.lock.ticket", lock.ticket);
    if let Some(token) = lock.fence() {
        put_token(fields, "lab2.lock.", token);
    }
    fields.put("lab2.lock.flag", lock.flag);
    fields.put("lab2.lock.age", lock.age);
    fields.put_text("lab2.lock.program", before_zeros(&lock.program));
}

fn put_profile(fields: &mut Fields, profile: Profile) {
    fields.put("lab2.profile.flags", profile.flags);
    fields.put("lab2.profile.flags.deaf", u8::from(profile.is_deaf()));
    fields.put(
        "lab2.profile.flags.unreached",
        u8::from(profile.is_unreached()),
    );
    fields.put("lab2.profile.flags.backing", profile.flags >> 5);
    fields.put("lab2.profile.mtu", profile.mtu);
    fields.put("lab2.profile.constants", profile.constants);
    fields.put("lab2.profile.patience", profile.patience);
    fields.put("lab2.profile.shortest", profile.shortest);
    fields.put("lab2.profile.take", profile.take);
    fields.put("lab2.profile.expect", profile.expect);
}

fn put_card(fields: &mut Fields, card: &Card<'_>) {
    fields.put("lab2.card", card.version);
    fields.put("lab2.card.major", card.version.major);
    fields.put("lab2.card.minor", card.version.minor);
    fields.put("lab2.card.patch", card.version.patch);
    fields.put("lab2.card.unheard", card.unheard.unwrap_or_default());
    let program = card.work.map_or("", |work| work.program);
    fields.put(
        "lab2.card.held",
        card.work.map_or(u64::MAX, |work| work.held),
    );
    fields.put("lab2.card.programLen", program.len());
    fields.put_text("lab2.card.program", program.as_bytes());
    if let Some(name) = card.host_name {
        fields.put("lab2.hostNameLen", name.len());
        fields.put("lab2.hostName", name);
    }
    if let Some(pause) = card.pause {
        fields.put("lab2.pause.left", pause.left.unwrap_or(u64::MAX));
        fields.put("lab2.pause.reasonLen", pause.reason.len());
        fields.put_text("lab2.pause.reason", pause.reason.as_bytes());
    }
}

fn put_standing(fields: &mut Fields, standing: LocksStanding) {
    put_token(fields, "lab2.standing.", standing.token);
    fields.put("lab2.standing.change", standing.change);
    fields.put("lab2.standing.quorumHash", standing.quorum);
    fields.put("lab2.standing.othersHash", standing.others);
    fields.put("lab2.standing.settles", standing.settles);
}

fn before_zeros(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().position(|&byte| byte == 0);
    &bytes[..len.unwrap_or(bytes.len())]
}
