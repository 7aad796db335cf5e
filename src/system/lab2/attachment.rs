//! The interface that the ring is on: found, watched, lost and found again.

use std::io;
use std::time::Duration;

use ring_proto::LinkState;
use ring_proto::time::Instant;
use tracing::{info, warn};

use crate::control::RingName;
use crate::host::{Error, Share};
use crate::sys::{
    Holder, Interface, InterfaceWatch, LockError, OpenError, PacketSocket, clock, user_of_rival,
};

/// How long after a failure the interface is looked at again, if nothing is heard of it.
const RETRY: Duration = Duration::from_secs(1);

/// Why nothing can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The administrator has set the interface down.
    Down,
    /// The cable, or what stands for it, is out.
    NoCarrier,
    /// There is no such interface any more.
    Gone,
    /// It has another MAC, or is another interface of the same name.
    Replaced,
    /// Another process receives the ring's frames on it.
    Shared,
    /// The interface is there, but the socket does not work.
    Broken,
}

impl Loss {
    /// For the status and the log, after the interface's name.
    #[must_use]
    pub const fn text(self) -> &'static str {
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

/// A step that the machine must be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The link is lost; the socket is closed.
    Lost,
    /// The link is there, and the socket is a new one, to be waited for.
    Opened(LinkState),
    /// The link is there as before, but its ip or MTU is another one.
    Changed(LinkState),
}

impl Step {
    /// How the link is after it.
    pub const fn link(self) -> LinkState {
        match self {
            Self::Lost => LinkState::Down,
            Self::Opened(link) | Self::Changed(link) => link,
        }
    }
}

/// The interface, its watch and its socket.
#[derive(Debug)]
pub struct Attachment {
    name: String,
    ethertype: u16,
    watch: InterfaceWatch,
    socket: Option<PacketSocket>,
    /// As it was when it was last looked up.
    interface: Interface,
    /// `None`: the socket is open and the machine may use it.
    loss: Option<Loss>,
    /// Drops of the sockets that were closed.
    earlier_drops: u64,
    /// There may be news that was not looked at yet.
    stale: bool,
    share: Share,
    retry: Option<Instant>,
    complaints: Complaints,
}

/// What goes on failing is said once, and again when it fails otherwise.
#[derive(Debug, Default)]
struct Complaints(Option<String>);

impl Complaints {
    /// Whether this is to be said: it was not said last.
    fn is_new(&mut self, text: &str) -> bool {
        let is_new = self.0.as_deref() != Some(text);
        if is_new {
            self.0 = Some(text.to_owned());
        }
        is_new
    }

    /// All is well, or fails for a reason that is said by itself.
    fn forget(&mut self) {
        self.0 = None;
    }
}

impl Attachment {
    /// Finds the interface and makes sure that a packet socket can be opened on it, be it up or
    /// not. The link counts as lost until the first [`look`](Self::look).
    ///
    /// # Errors
    /// There is no such interface, it is not Ethernet, or the process may not.
    pub fn open(name: &str, ethertype: u16) -> Result<Self, Error> {
        let watch = InterfaceWatch::new().map_err(Error::system("watch the interfaces"))?;
        let list = Error::system("list the interfaces");
        let Some(interface) = Interface::find(name).map_err(list)? else {
            return Err(Error::NoInterface {
                name: name.to_owned(),
                existing: Interface::names().unwrap_or_default(),
            });
        };
        drop(PacketSocket::open(&interface, ethertype)?);
        Ok(Self {
            name: name.to_owned(),
            ethertype,
            watch,
            socket: None,
            interface,
            loss: Some(Loss::Broken),
            earlier_drops: 0,
            stale: true,
            share: Share::default(),
            retry: None,
            complaints: Complaints::default(),
        })
    }

    /// Refuses an interface on which another process receives the frames of this ring: by the lock of
    /// another user, or with another file system, it is not kept off.
    ///
    /// # Errors
    /// There is one.
    pub fn check_alone(&self, ring: &RingName) -> Result<(), Error> {
        let Some(uid) = user_of_rival(&self.interface, self.ethertype, None) else {
            return Ok(());
        };
        Err(Error::Lock(LockError::Held {
            ring: ring.to_string(),
            holder: Holder { pid: None, uid },
        }))
    }

    /// The watch, to wait for.
    pub const fn watch(&self) -> &InterfaceWatch {
        &self.watch
    }

    /// The socket, while the link is there.
    pub const fn socket(&mut self) -> Option<&mut PacketSocket> {
        self.socket.as_mut()
    }

    /// The interface as it was last seen.
    pub const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Why nothing can be sent; `None`: it can.
    pub const fn loss(&self) -> Option<Loss> {
        self.loss
    }

    /// Frames that the kernel has dropped because this process did not take them in time.
    pub fn kernel_drops(&mut self) -> u64 {
        // A broken socket is found out when it is received from.
        let socket = self.socket.as_mut();
        let current = socket.map_or(0, |socket| socket.kernel_drops().unwrap_or(0));
        self.earlier_drops + current
    }

    /// When [`look`](Self::look) is to be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        if self.stale {
            Some(self.share.resume().unwrap_or_default())
        } else {
            self.retry
        }
    }

    /// The watch is readable.
    ///
    /// # Errors
    /// It is broken.
    pub fn heard(&mut self) -> io::Result<()> {
        self.stale |= self.watch.drain()?;
        Ok(())
    }

    /// Receiving has failed: the link is lost for now.
    pub fn fail(&mut self, now: Instant, error: &io::Error) -> Step {
        self.lose(Loss::Broken);
        self.retry = Some(now + RETRY);
        info!(
            event = "link_failed",
            "cannot receive on {}: {error}", self.name
        );
        Step::Lost
    }

    /// Looks the interface up if there may be news, and says one step that the machine must be
    /// told of. To be called again until there is none.
    pub fn look(&mut self, now: Instant) -> Option<Step> {
        let retry = self.retry.is_some_and(|retry| retry <= now);
        if !(retry || self.stale) || !self.share.is_due(now) {
            return None;
        }
        self.stale = false;
        self.retry = None;
        let start = clock::now().monotonic;
        let found = Interface::find(&self.name);
        self.share.charge(start, clock::now().monotonic);
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
        self.interface = found.unwrap_or_else(|| self.interface.clone());
        match loss {
            Some(loss) => {
                self.say_loss(loss);
                self.complaints.forget();
                self.lose(loss);
                // What it has become is looked at in a step of its own.
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

    /// Whether stations would take it for another one than the interface that was in use.
    fn is_another(&self, found: &Interface) -> bool {
        (found.index, found.mac) != (self.interface.index, self.interface.mac)
    }

    fn reopen(&mut self, now: Instant) -> Option<Step> {
        match PacketSocket::open(&self.interface, self.ethertype) {
            Ok(socket) => {
                // After the opening: of two that come at once one sees the other at least.
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
                // A newcomer by the name may go again at once; its going is heard of.
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
        let ip_text = crate::observe::lab2::Ip(ip);
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
        info!(
            event = "link_lost",
            reason = text,
            "{name} {text}: {outlook}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::Complaints;

    #[test]
    fn what_goes_on_failing_is_said_once_and_again_when_it_has_changed() {
        let mut complaints = Complaints::default();
        let said = ["no buffers", "no buffers", "no permission", "no buffers"]
            .map(|text| complaints.is_new(text));
        assert_eq!(said, [true, false, true, true]);
        complaints.forget();
        assert!(complaints.is_new("no buffers"));
    }
}
