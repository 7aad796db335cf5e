//! The ring's interface: found, watched, lost and found again.

use std::io;
use std::time::Duration;

use ring_control::NodeName;
use ring_host::{Complaints, WorkBudget};
use ring_process::{Holder, LockError};
use ring_proto::LinkState;
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_runtime::net::{Interface, InterfaceWatch, OpenError, PacketSocket, user_of_rival};
use tracing::{info, warn};

use crate::system::Error;

/// The time after a failure until the next look at the interface, unless the kernel reports a change.
const RETRY: Duration = Duration::from_secs(1);

/// Why nothing can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// The administrator has set the interface down.
    Down,
    /// There is no carrier.
    NoCarrier,
    /// The interface no longer exists.
    Gone,
    /// It has another MAC, or is another interface of the same name.
    Replaced,
    /// Another process receives the ring's frames on it.
    Shared,
    /// The interface is there, but the socket does not work.
    Broken,
}

impl Loss {
    /// Returns it for the status and the log, to follow the interface's name.
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

/// A change that the machine must be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The link is lost; the socket is closed.
    Lost,
    /// The link is up with a new socket, which the loop has to wait for.
    Opened(LinkState),
    /// The link is up as before, but its ip or MTU has changed.
    Changed(LinkState),
}

impl Step {
    /// Returns the link's state after the change.
    pub(super) const fn link(self) -> LinkState {
        match self {
            Self::Lost => LinkState::Down,
            Self::Opened(link) | Self::Changed(link) => link,
        }
    }
}

/// The interface, its watch and its socket.
#[derive(Debug)]
pub(super) struct Attachment {
    name: String,
    ethertype: u16,
    watch: InterfaceWatch,
    socket: Option<PacketSocket>,
    /// The interface as last looked up.
    interface: Interface,
    /// `None`: the socket is open and the machine may use it.
    loss: Option<Loss>,
    /// Drops counted by sockets that are closed now.
    earlier_drops: u64,
    /// The kernel may have reported changes that were not looked at yet.
    stale: bool,
    budget: WorkBudget,
    retry: Option<Instant>,
    complaints: Complaints,
}

impl Attachment {
    /// Finds the interface and checks that a packet socket can be opened on it, whether it is up or not. The link
    /// counts as lost until the first [`look`](Self::look).
    ///
    /// # Errors
    /// There is no such interface, it is not Ethernet, or the process lacks the right.
    pub(super) fn open(name: &str, ethertype: u16) -> Result<Self, ring_host::Error> {
        let watch =
            InterfaceWatch::new().map_err(ring_host::Error::system("watch the interfaces"))?;
        let list = ring_host::Error::system("list the interfaces");
        let Some(interface) = Interface::find(name).map_err(list)? else {
            let existing = Interface::names().unwrap_or_default();
            let name = name.to_owned();
            return Err(Error::NoInterface { name, existing }.into());
        };
        drop(PacketSocket::open(&interface, ethertype).map_err(Error::Open)?);
        let this = Self {
            name: name.to_owned(),
            ethertype,
            watch,
            socket: None,
            interface,
            loss: Some(Loss::Broken),
            earlier_drops: 0,
            stale: true,
            budget: WorkBudget::default(),
            retry: None,
            complaints: Complaints::default(),
        };
        if let Some(trouble) = this.trouble() {
            warn!(event = "bridge_port", "{trouble}");
        }
        Ok(this)
    }

    /// Refuses an interface on which another process receives the frames of this ring. The lock does not keep off
    /// a daemon of another user, or one with another file system.
    pub(super) fn check_alone(&self, ring: &NodeName) -> Result<(), Error> {
        let Some(uid) = user_of_rival(&self.interface, self.ethertype, None) else {
            return Ok(());
        };
        Err(Error::Lock(LockError::Held {
            ring: ring.to_string(),
            holder: Holder { pid: None, uid },
        }))
    }

    /// The watch, for a poller.
    pub(super) const fn watch(&self) -> &InterfaceWatch {
        &self.watch
    }

    /// The socket, while the link is there.
    pub(super) const fn socket(&mut self) -> Option<&mut PacketSocket> {
        self.socket.as_mut()
    }

    /// The interface as it was last seen.
    pub(super) const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Returns why nothing can be sent; `None`: frames can be sent.
    pub(super) const fn loss(&self) -> Option<Loss> {
        self.loss
    }

    /// Returns what is wrong with the interface although it is up, as a sentence.
    pub(super) fn trouble(&self) -> Option<String> {
        let name = &self.name;
        self.interface.bridge_port.then(|| {
            format!(
                "{name} is a port of a bridge, which takes all frames that arrive there: run ringd on the bridge, or take \
                 {name} out of it ('ip link set {name} nomaster')"
            )
        })
    }

    /// Returns how many frames the kernel has dropped because this process did not take them in time.
    pub(super) fn kernel_drops(&mut self) -> u64 {
        // Receiving shows that a socket is broken.
        let socket = self.socket.as_mut();
        let current = socket.map_or(0, |socket| socket.kernel_drops().unwrap_or(0));
        self.earlier_drops + current
    }

    /// When to call [`look`](Self::look) at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.stale {
            Some(self.budget.resume().unwrap_or_default())
        } else {
            self.retry
        }
    }

    /// The watch is readable.
    pub(super) fn heard(&mut self) -> io::Result<()> {
        self.stale |= self.watch.drain()?;
        Ok(())
    }

    /// Receiving has failed: the link is lost for now.
    pub(super) fn fail(&mut self, now: Instant, error: &io::Error) -> Step {
        self.lose(Loss::Broken);
        self.retry = Some(now + RETRY);
        warn!(
            event = "link_failed",
            "cannot receive on {}: {error}", self.name
        );
        Step::Lost
    }

    /// Looks the interface up if it may have changed, and returns one change that the machine must be told of.
    /// Call it until it returns none.
    pub(super) fn look(&mut self, now: Instant) -> Option<Step> {
        let retry = self.retry.is_some_and(|retry| retry <= now);
        if !(retry || self.stale) || !self.budget.is_due(now) {
            return None;
        }
        self.stale = false;
        self.retry = None;
        let start = clock::now().monotonic;
        let found = Interface::find(&self.name);
        self.budget.charge(start, clock::now().monotonic);
        match found {
            Ok(found) => self.compare(now, found),
            Err(error) => {
                let text = format!("cannot look up {}: {error}", self.name);
                if self.complaints.is_new(&text) {
                    warn!(
                        event = "look_up_failed",
                        "{text}; trying again every {RETRY:?}"
                    );
                }
                self.retry = Some(now + RETRY);
                None
            }
        }
    }

    fn compare(&mut self, now: Instant, found: Option<Interface>) -> Option<Step> {
        let loss = match &found {
            None => Some(Loss::Gone),
            Some(found) if !found.up => Some(Loss::Down),
            Some(found) if !found.carrier => Some(Loss::NoCarrier),
            Some(found) if self.loss.is_none() && self.is_another(found) => Some(Loss::Replaced),
            Some(_) => None,
        };
        let was_up = self.loss.is_none();
        let changed = found.as_ref() != Some(&self.interface);
        let before = self.trouble();
        self.interface = found.unwrap_or_else(|| self.interface.clone());
        match self.trouble() {
            Some(trouble) if before.is_none() => warn!(event = "bridge_port", "{trouble}"),
            None if before.is_some() => info!(
                event = "no_bridge_port",
                "{} is no longer a port of a bridge", self.name
            ),
            _ => {}
        }
        match loss {
            Some(loss) => {
                self.say_loss(loss);
                self.complaints.forget();
                self.lose(loss);
                // The next step looks at what it has become.
                self.stale = loss == Loss::Replaced;
                was_up.then_some(Step::Lost)
            }
            None if was_up => {
                self.complaints.forget();
                changed.then(|| Step::Changed(self.up("now has")))
            }
            None => self.reopen(now),
        }
    }

    /// Whether peers would take it for another station than the interface that was in use.
    fn is_another(&self, found: &Interface) -> bool {
        (found.index, found.mac) != (self.interface.index, self.interface.mac)
    }

    fn reopen(&mut self, now: Instant) -> Option<Step> {
        match PacketSocket::open(&self.interface, self.ethertype) {
            Ok(socket) => {
                // After opening the socket: of two daemons that start together at least one sees the other.
                let rival = user_of_rival(&self.interface, self.ethertype, Some(&socket));
                if let Some(user) = rival {
                    self.stay_out(now, user);
                    return None;
                }
                self.socket = Some(socket);
                self.loss = None;
                self.complaints.forget();
                Some(Step::Opened(self.up("is up:")))
            }
            Err(error) => {
                self.loss = Some(Loss::Broken);
                self.retry = Some(now + RETRY);
                // A new interface of that name may vanish again at once; the kernel reports that too.
                if !matches!(error, OpenError::Gone { .. })
                    && self.complaints.is_new(&error.to_string())
                {
                    warn!(
                        event = "open_failed",
                        "{error}; trying again every {RETRY:?}"
                    );
                }
                None
            }
        }
    }

    /// Both would take a token that is meant for either.
    fn stay_out(&mut self, now: Instant, user: u32) {
        self.retry = Some(now + RETRY);
        if self.loss.replace(Loss::Shared) != Some(Loss::Shared) {
            let (name, ethertype) = (&self.name, self.ethertype);
            warn!(
                event = "interface_shared",
                "a process of user {user} receives frames of EtherType {ethertype:#06x} on {name} too, as \
                 another ringd would: staying out of the ring until it ends"
            );
        }
    }

    fn lose(&mut self, loss: Loss) {
        self.earlier_drops = self.kernel_drops();
        self.socket = None;
        self.loss = Some(loss);
    }

    fn up(&self, is: &str) -> LinkState {
        let Interface { mac, ip, mtu, .. } = self.interface;
        let ip_text = crate::system::lab2::observe::Ip(ip);
        info!(
            event = "link_up", %mac, ip = %ip_text, mtu,
            "{} {is} MAC {mac}, ip {ip_text}, MTU {mtu}", self.name
        );
        LinkState::Up { mac, ip, mtu }
    }

    fn say_loss(&self, loss: Loss) {
        if self.loss == Some(loss) {
            return;
        }
        let (name, text) = (&self.name, loss.text());
        let outlook = match loss {
            Loss::Replaced => "rejoining",
            _ => "waiting for its return",
        };
        warn!(
            event = "link_lost",
            reason = text,
            "{name} {text}: {outlook}"
        );
    }
}
