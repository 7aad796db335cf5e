//! The ring's interface: looks the interface up, watches it, and opens its socket again after a loss.

use std::io;
use std::mem;
use std::rc::Rc;
use std::time::Duration;

use ring_control::NodeName;
use ring_host::trust::Trust;
use ring_host::{LastFailure, WorkBudget};
use ring_process::{Holder, LockError, SharedRecord};
use ring_proto::LinkState;
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_runtime::driver::{Authenticated, FrameAddressing, Signer};
use ring_runtime::net::{Interface, InterfaceWatch, OpenError, PacketSocket, rival_socket_user};
use ring_trust::TRAILER_LEN;
use tracing::{info, warn};

use super::guardian::GuardedSocket;
use crate::system::Error;
use crate::system::lab2::events;

/// Interval of attempts after a failure. If the kernel reports a change of the interface, the node makes an attempt at
/// once.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The reason why frames cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkLoss {
    /// The administrator set the interface down.
    Down,
    NoCarrier,
    /// The interface no longer exists.
    Gone,
    /// The interface has a different MAC, or is a different interface with the same name.
    Replaced,
    /// Another process receives the ring's frames on the interface.
    Shared,
    /// The interface exists, but its socket does not work.
    Broken,
}

impl LinkLoss {
    /// Returns the text for the status and the log. The status and the log print this text after the interface's name.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Down => "is down",
            Self::NoCarrier => "has no carrier",
            Self::Gone => "is gone",
            Self::Replaced => "has another MAC, or was replaced",
            Self::Shared => "is in use by another ringd",
            Self::Broken => "cannot be used",
        }
    }
}

/// A change of the link, for the state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkChange {
    /// The link is lost, and the socket is closed.
    Lost,
    /// The link is up with a new socket. The loop must wait for this socket.
    Opened(LinkState),
    /// The link is still up, but its IP, its MTU or the length of signatures changed.
    Changed(LinkState),
}

impl LinkChange {
    pub(super) const fn link(self) -> LinkState {
        match self {
            Self::Lost => LinkState::Down,
            Self::Opened(link) | Self::Changed(link) => link,
        }
    }
}

/// The link of the state machine.
pub(super) type Link = Authenticated<GuardedSocket>;

/// The interface, its watch and its socket.
#[derive(Debug)]
pub(super) struct Attachment {
    name: String,
    ethertype: u16,
    watch: InterfaceWatch,
    /// The socket, and the keys of the node. The keys stay while the link is lost and has no socket.
    link: Link,
    /// The result of the last look-up of the interface.
    interface: Interface,
    /// The reason why the machine must not use the link; `None` if the socket is open and the machine may use the link.
    loss: Option<LinkLoss>,
    earlier_drops: u64,
    /// Whether the kernel may have reported changes that this node has not looked up yet.
    has_unseen_changes: bool,
    /// Whether the machine must learn of another MTU, because the node got keys or lost its keys.
    has_new_room: bool,
    budget: WorkBudget,
    retry: Option<Instant>,
    last_failure: LastFailure,
}

impl Attachment {
    /// Finds the interface, and checks that a packet socket can be opened on it. The check works even if the interface
    /// is down. The link counts as lost until the first [`poll_change`](Self::poll_change). `record` has the last
    /// frames of the node, which the link withdraws before it sends a frame.
    ///
    /// # Errors
    /// Fails if there is no such interface, if it is not Ethernet, or if the process has no permission.
    pub(super) fn open(
        name: &str,
        ethertype: u16,
        trust: &Trust,
        record: Rc<SharedRecord>,
    ) -> Result<Self, ring_host::Error> {
        let watch =
            InterfaceWatch::new().map_err(ring_host::Error::system("watch the interfaces"))?;
        let list = ring_host::Error::system("list the interfaces");
        let Some(interface) = Interface::find(name).map_err(list)? else {
            let existing = Interface::names().unwrap_or_default();
            let name = name.to_owned();
            return Err(Error::NoInterface { name, existing }.into());
        };
        drop(PacketSocket::open(&interface, ethertype).map_err(Error::Open)?);
        let addressing = FrameAddressing {
            mac: interface.mac,
            ethertype,
        };
        let signer = signer(trust, addressing);
        let signer = signer.map_err(ring_host::Error::system("draw a random number"))?;
        let this = Self {
            name: name.to_owned(),
            ethertype,
            watch,
            link: Link::new(GuardedSocket::new(record), signer),
            interface,
            loss: Some(LinkLoss::Broken),
            earlier_drops: 0,
            has_unseen_changes: true,
            has_new_room: false,
            budget: WorkBudget::default(),
            retry: None,
            last_failure: LastFailure::default(),
        };
        if let Some(problem) = this.problem() {
            warn!(event = events::BRIDGE_PORT, "{problem}");
        }
        Ok(this)
    }

    /// Refuses an interface on which another process receives the frames of this ring. The ring's lock file does not
    /// exclude such a process if it belongs to another user or sees another file system.
    pub(super) fn check_unshared(&self, ring: &NodeName) -> Result<(), Error> {
        let Some(uid) = rival_socket_user(&self.interface, self.ethertype, None) else {
            return Ok(());
        };
        Err(Error::Lock(LockError::Held {
            ring: ring.to_string(),
            holder: Holder { pid: None, uid },
        }))
    }

    pub(super) const fn watch(&self) -> &InterfaceWatch {
        &self.watch
    }

    /// Returns the socket; `None` while the link is lost.
    pub(super) fn socket(&self) -> Option<&PacketSocket> {
        self.link.link().socket.as_ref()
    }

    /// Returns the link of the machine; `None` while it is lost.
    pub(super) fn link(&mut self) -> Option<&mut Link> {
        let is_open = self.socket().is_some();
        is_open.then_some(&mut self.link)
    }

    /// Returns the keys of the node; `None` if it has no keys.
    pub(super) fn signer(&self) -> Option<&Signer> {
        self.link.signer()
    }

    /// Replaces the keys, and logs them. The proofs of the members' processes stay.
    ///
    /// # Errors
    /// Fails if the kernel has no random source. Then the keys stay the same.
    pub(super) fn set_trust(&mut self, trust: &Trust) -> Result<(), String> {
        let before = self.signature_len();
        let addressing = self.addressing();
        trust.apply(&mut self.link, |authenticator| {
            Signer::of_frames(authenticator, addressing)
        })?;
        self.has_new_room |= self.signature_len() != before;
        Ok(())
    }

    /// Returns the number of bytes that each frame needs for its signature.
    fn signature_len(&self) -> usize {
        self.signer().map_or(0, |_| TRAILER_LEN)
    }

    const fn addressing(&self) -> FrameAddressing {
        FrameAddressing {
            mac: self.interface.mac,
            ethertype: self.ethertype,
        }
    }

    /// Returns the result of the last look-up of the interface.
    pub(super) const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Returns the reason why the link cannot send frames; `None` if it can send frames.
    pub(super) const fn loss(&self) -> Option<LinkLoss> {
        self.loss
    }

    /// Describes a problem of an interface that is up.
    pub(super) fn problem(&self) -> Option<String> {
        let name = &self.name;
        self.interface.bridge_port.then(|| {
            format!(
                "{name} is a port of a bridge, which takes all frames of {name}; run ringd on the bridge, or remove \
                 {name} from it ('ip link set {name} nomaster')"
            )
        })
    }

    /// Returns the number of frames that the kernel dropped because this process took them too late.
    pub(super) fn kernel_drops(&mut self) -> u64 {
        // An error is ignored: if the socket is broken, the next receive shows it.
        let socket = self.link.link_mut().socket.as_mut();
        let current = socket.map_or(0, |socket| socket.kernel_drops().unwrap_or(0));
        self.earlier_drops + current
    }

    /// Returns the latest time for the next call of [`poll_change`](Self::poll_change).
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.has_unseen_changes || self.has_new_room {
            Some(self.budget.resume().unwrap_or_default())
        } else {
            self.retry
        }
    }

    /// Reads the messages of the interface watch.
    pub(super) fn drain_watch(&mut self) -> io::Result<()> {
        self.has_unseen_changes |= self.watch.drain()?;
        Ok(())
    }

    /// Closes the socket after an error of receiving.
    pub(super) fn fail(&mut self, now: Instant, error: &io::Error) -> LinkChange {
        self.lose(LinkLoss::Broken);
        self.retry = Some(now + RETRY_INTERVAL);
        warn!(
            event = events::LINK_FAILED,
            "cannot receive on {}: {error}", self.name
        );
        LinkChange::Lost
    }

    /// If the interface may have changed, looks it up. Returns the next change for the machine. Call this function
    /// until it returns `None`.
    pub(super) fn poll_change(&mut self, now: Instant) -> Option<LinkChange> {
        let retry = self.retry.is_some_and(|retry| retry <= now);
        if !(retry || self.has_unseen_changes || self.has_new_room) || !self.budget.end_pause(now) {
            return None;
        }
        self.has_unseen_changes = false;
        self.retry = None;
        let start = clock::now().monotonic;
        let found = Interface::find(&self.name);
        self.budget.charge(start, clock::now().monotonic);
        match found {
            Ok(found) => self.apply_lookup(now, found),
            Err(error) => {
                let text = format!("cannot look up {}: {error}", self.name);
                if self.last_failure.record(&text) {
                    warn!(
                        event = events::LOOKUP_FAILED,
                        "{text}; ringd retries every {RETRY_INTERVAL:?}"
                    );
                }
                self.retry = Some(now + RETRY_INTERVAL);
                None
            }
        }
    }

    fn apply_lookup(&mut self, now: Instant, found: Option<Interface>) -> Option<LinkChange> {
        let loss = match &found {
            None => Some(LinkLoss::Gone),
            Some(found) if !found.up => Some(LinkLoss::Down),
            Some(found) if !found.carrier => Some(LinkLoss::NoCarrier),
            Some(found) if self.loss.is_none() && self.is_another_node(found) => {
                Some(LinkLoss::Replaced)
            }
            Some(_) => None,
        };
        let was_up = self.loss.is_none();
        let has_new_room = mem::take(&mut self.has_new_room);
        let changed = has_new_room || found.as_ref() != Some(&self.interface);
        let before = self.problem();
        self.interface = found.unwrap_or_else(|| self.interface.clone());
        match self.problem() {
            Some(problem) if before.is_none() => warn!(event = events::BRIDGE_PORT, "{problem}"),
            None if before.is_some() => info!(
                event = events::NO_BRIDGE_PORT,
                "{} is no longer a port of a bridge", self.name
            ),
            _ => {}
        }
        match loss {
            Some(loss) => {
                self.log_loss(loss);
                self.last_failure.clear();
                self.lose(loss);
                // The next call looks up the interface that has replaced it.
                self.has_unseen_changes = loss == LinkLoss::Replaced;
                was_up.then_some(LinkChange::Lost)
            }
            None if was_up => {
                self.last_failure.clear();
                changed.then(|| LinkChange::Changed(self.up("now has")))
            }
            None => self.reopen(now),
        }
    }

    /// Whether peers would take this machine for another node, because `found` differs from the interface in use.
    fn is_another_node(&self, found: &Interface) -> bool {
        (found.index, found.mac) != (self.interface.index, self.interface.mac)
    }

    fn reopen(&mut self, now: Instant) -> Option<LinkChange> {
        match PacketSocket::open(&self.interface, self.ethertype) {
            Ok(socket) => {
                // This check comes after the socket is open. So if two daemons start at the same time, at least one of
                // them sees the other.
                let rival = rival_socket_user(&self.interface, self.ethertype, Some(&socket));
                if let Some(user) = rival {
                    self.stay_out_of_ring(now, user);
                    return None;
                }
                let addressing = self.addressing();
                if let Some(signer) = self.link.signer_mut() {
                    signer.set_addressing(addressing);
                }
                self.link.link_mut().socket = Some(socket);
                self.loss = None;
                self.last_failure.clear();
                Some(LinkChange::Opened(self.up("is up:")))
            }
            Err(error) => {
                self.loss = Some(LinkLoss::Broken);
                self.retry = Some(now + RETRY_INTERVAL);
                // A new interface of this name may vanish at once. The kernel reports this too.
                if !matches!(error, OpenError::Gone { .. })
                    && self.last_failure.record(&error.to_string())
                {
                    warn!(
                        event = events::OPEN_FAILED,
                        "{error}; ringd retries every {RETRY_INTERVAL:?}"
                    );
                }
                None
            }
        }
    }

    /// Stays out of the ring while another process receives the ring's frames. If the node stayed in the ring, both
    /// processes would accept a token that is offered to this machine.
    fn stay_out_of_ring(&mut self, now: Instant, user: u32) {
        self.retry = Some(now + RETRY_INTERVAL);
        if self.loss.replace(LinkLoss::Shared) != Some(LinkLoss::Shared) {
            let (name, ethertype) = (&self.name, self.ethertype);
            warn!(
                event = events::INTERFACE_SHARED,
                "cannot use {name}: a process of user {user} also receives frames of EtherType {ethertype:#06x}, as \
                 another ringd would; this node stays out of the ring until that process ends"
            );
        }
    }

    fn lose(&mut self, loss: LinkLoss) {
        self.earlier_drops = self.kernel_drops();
        self.link.link_mut().socket = None;
        self.loss = Some(loss);
    }

    /// Logs the state of the interface. Returns the link's state, in which the signatures need a part of the MTU.
    fn up(&self, is: &str) -> LinkState {
        let Interface { mac, ip, mtu, .. } = self.interface;
        let ip_text = crate::system::lab2::observe::Ip(ip);
        info!(
            event = events::LINK_UP, %mac, ip = %ip_text, mtu,
            "{} {is} MAC {mac}, ip {ip_text}, MTU {mtu}", self.name
        );
        LinkState::Up {
            mac,
            ip,
            mtu: mtu.saturating_sub(self.signature_len()),
        }
    }

    fn log_loss(&self, loss: LinkLoss) {
        if self.loss == Some(loss) {
            return;
        }
        let (name, text) = (&self.name, loss.text());
        let outlook = match loss {
            LinkLoss::Replaced => "rejoining",
            _ => "waiting for its return",
        };
        warn!(
            event = events::LINK_LOST,
            reason = text,
            "{name} {text}: {outlook}"
        );
    }
}

/// Makes the signer of the node's frames; `None` without keys.
fn signer(trust: &Trust, addressing: FrameAddressing) -> io::Result<Option<Signer>> {
    let authenticator = trust.authenticator()?;
    Ok(authenticator.map(|it| Signer::of_frames(it, addressing)))
}
