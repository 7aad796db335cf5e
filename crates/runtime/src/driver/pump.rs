//! The pump: feeds inputs to the machine and carries out everything that follows from them.

use std::convert::Infallible;
use std::io;

use ring_proto::time::{Instant, Now};
use ring_proto::{JobOp, Machine, Sent, Stored, StreamEvent, StreamId, StreamOp, Ticket, Transmit};

use super::{Happened, Link, ReceiveBatch, Refused, Streams, TransmitBatch, frames};

/// Maximum timeouts handled in one turn: one timeout may lead to another at the same time.
const TIMEOUTS: usize = 4;

/// Stores what must survive a restart.
pub trait Store<D> {
    /// Stores `durable`. The store itself reports why that failed.
    fn store(&mut self, durable: &D) -> Stored;
}

/// That of machines of which nothing survives a restart.
#[derive(Debug, Clone, Copy)]
pub struct NoStore;

impl Store<Infallible> for NoStore {
    fn store(&mut self, durable: &Infallible) -> Stored {
        match *durable {}
    }
}

/// Sees every event of a machine, and cannot change what happens.
pub trait Observe<E> {
    /// Something happened at `now`.
    fn observe(&mut self, now: Now, event: &E);
}

/// A machine's surroundings.
#[derive(Debug)]
pub struct Environment<'a, L, S, O> {
    /// Carries the messages; `None` while there is no link.
    pub link: Option<&'a mut L>,
    /// Stores what must survive a restart.
    pub store: &'a mut S,
    /// Sees the events.
    pub observer: &'a mut O,
}

/// Pumps one machine. After each call the machine's outputs have been carried out.
#[derive(Debug)]
pub struct Driver<M: Machine> {
    received: ReceiveBatch<M::Peer>,
    pump: Pump<M>,
}

/// The machine and the buffers of its output.
#[derive(Debug)]
struct Pump<M: Machine> {
    machine: M,
    transmit: TransmitBatch<M::Peer>,
    tickets: Vec<Ticket>,
}

impl<M: Machine<Peer = ()>> Driver<M> {
    /// Makes a driver for `machine`, on a link that carries frames.
    pub fn new(machine: M) -> Self {
        Self::with_batches(machine, frames::receive_batch(), frames::transmit_batch())
    }
}

impl<M: Machine> Driver<M> {
    /// Makes a driver for `machine` that receives and sends in batches of the caller's size.
    pub fn with_batches(
        machine: M,
        received: ReceiveBatch<M::Peer>,
        transmit: TransmitBatch<M::Peer>,
    ) -> Self {
        let tickets = Vec::with_capacity(transmit.capacity());
        Self {
            received,
            pump: Pump {
                machine,
                transmit,
                tickets,
            },
        }
    }

    /// Returns the machine.
    pub fn machine(&self) -> &M {
        &self.pump.machine
    }

    /// Returns when to call [`timeout`](Self::timeout); `None`: never.
    pub fn deadline(&self) -> Option<Instant> {
        self.pump.machine.poll_timeout()
    }

    /// Runs one turn of a loop that begins at `now`: handles messages if any have `arrived`, then tells the
    /// machine that time has passed. If its deadline has passed, the turn first handles all that arrived before
    /// `now`, whether or not the caller knows of it: a message that lies unread because this process was late
    /// causes no timeout. Events of connections [without the network's doing](Streams::is_due) are handled in any
    /// case.
    ///
    /// # Errors
    /// The link failed to receive. Timeouts wait for the next turn.
    pub fn turn<L, S, O>(
        &mut self,
        now: Now,
        arrived: bool,
        mut clock: impl FnMut() -> Now,
        environment: &mut Environment<'_, L, S, O>,
    ) -> io::Result<()>
    where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        let quota = match (self.is_due(now), arrived) {
            (true, _) => L::QUOTA.messages_before_timeout,
            (false, true) => L::QUOTA.messages,
            (false, false) => 0,
        };
        let mut present = now;
        let mut handled = 0;
        while handled < quota {
            let more = self.fetch(present, environment)?;
            self.note_lateness(&mut clock, environment);
            self.hand_on(environment);
            let newest = self.received.newest();
            if !more || newest.is_some_and(|came| came > now.monotonic) {
                break;
            }
            handled += self.received.capacity();
            present = clock();
        }
        let streams = environment.link.as_deref_mut().and_then(Link::streams);
        let happens = arrived || streams.is_some_and(|streams| streams.is_due());
        let events = match (self.is_due(now), happens) {
            (true, _) => L::QUOTA.events_before_timeout,
            (false, true) => L::QUOTA.events,
            (false, false) => 0,
        };
        for _ in 0..events {
            if !self.stream(&mut clock, environment) {
                break;
            }
        }
        if self.is_due(now) {
            self.note_lateness(&mut clock, environment);
        }
        for _ in 0..TIMEOUTS {
            if !self.is_due(now) {
                break;
            }
            self.timeout(now, environment);
        }
        Ok(())
    }

    fn is_due(&self, now: Now) -> bool {
        self.deadline().is_some_and(|due| due <= now.monotonic)
    }

    /// Receives one batch and handles each message of it. Returns `true` if the batch was full: there may be more,
    /// and the caller decides when to come back for it.
    ///
    /// # Errors
    /// The link failed to receive; the machine has seen nothing of it.
    pub fn receive<L, S, O>(
        &mut self,
        now: Now,
        environment: &mut Environment<'_, L, S, O>,
    ) -> io::Result<bool>
    where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        let more = self.fetch(now, environment)?;
        self.hand_on(environment);
        Ok(more)
    }

    /// Receives one batch. Returns `true` if it is full.
    fn fetch<L, S, O>(
        &mut self,
        now: Now,
        environment: &mut Environment<'_, L, S, O>,
    ) -> io::Result<bool>
    where
        L: Link<M::Peer>,
    {
        let Some(link) = environment.link.as_deref_mut() else {
            self.received.clear();
            return Ok(false);
        };
        link.receive(now, &mut self.received)?;
        Ok(self.received.is_full())
    }

    /// Handles each message of the batch.
    fn hand_on<L, S, O>(&mut self, environment: &mut Environment<'_, L, S, O>)
    where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        let gathers = self.pump.machine.gathers();
        let mut left = self.received.len();
        for (message, from, now, age) in self.received.iter() {
            self.pump.machine.handle_message(now, from, message, age);
            left -= 1;
            if !gathers || left == 0 {
                self.pump.drain(now, environment);
            }
        }
    }

    /// Tells the machine how late it is, if that matters to it.
    fn note_lateness<L, S, O>(
        &mut self,
        clock: &mut impl FnMut() -> Now,
        environment: &mut Environment<'_, L, S, O>,
    ) where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        if self.pump.machine.heeds_lateness() {
            let now = clock();
            self.pump.machine.handle_lateness(now);
            self.pump.drain(now, environment);
        }
    }

    /// Handles the next event of a connection, at the time that it is then: what was reset or given up meanwhile, or
    /// is too late, must not count. Returns `false` if there is none.
    fn stream<L, S, O>(
        &mut self,
        clock: &mut impl FnMut() -> Now,
        environment: &mut Environment<'_, L, S, O>,
    ) -> bool
    where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        let streams = environment.link.as_deref_mut().and_then(Link::streams);
        let Some((streams, (id, happened))) =
            streams.and_then(|streams| streams.next().map(|next| (streams, next)))
        else {
            return false;
        };
        let now = clock();
        self.pump.happened(now, streams, id, happened);
        self.pump.drain(now, environment);
        true
    }

    /// Returns the machine's next job, to be done off the loop, or that it wants jobs cancelled.
    pub fn next_job(&mut self) -> Option<JobOp<M::Job>> {
        self.pump.machine.poll_job()
    }

    /// Tells the machine that time has passed.
    pub fn timeout<L, S, O>(&mut self, now: Now, environment: &mut Environment<'_, L, S, O>)
    where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        self.pump.machine.handle_timeout(now);
        self.pump.drain(now, environment);
    }

    /// Passes a command to the machine.
    pub fn command<L, S, O>(
        &mut self,
        now: Now,
        command: M::Command,
        environment: &mut Environment<'_, L, S, O>,
    ) where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        self.pump.machine.handle_command(now, command);
        self.pump.drain(now, environment);
    }

    /// Tells the machine what the network is like now.
    pub fn link_changed<L, S, O>(
        &mut self,
        now: Now,
        net: M::Net,
        environment: &mut Environment<'_, L, S, O>,
    ) where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        self.pump.machine.handle_link(now, net);
        self.pump.drain(now, environment);
    }
}

impl<M: Machine> Pump<M> {
    fn drain<L, S, O>(&mut self, now: Now, environment: &mut Environment<'_, L, S, O>)
    where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        loop {
            while let Some(durable) = self.machine.poll_durable() {
                let stored = environment.store.store(&durable);
                self.machine.handle_stored(now, stored);
            }
            self.fill();
            if !self.tickets.is_empty() {
                self.flush(now, environment.link.as_deref_mut());
            } else if !self.carry_out(environment.link.as_deref_mut()) {
                break;
            }
        }
        while let Some(event) = self.machine.poll_event() {
            environment.observer.observe(now, &event);
        }
    }

    /// Passes an event of a connection to the machine.
    fn happened(
        &mut self,
        now: Now,
        streams: &mut dyn Streams<M::Peer>,
        id: StreamId,
        happened: Happened<M::Peer>,
    ) {
        let event = match happened {
            Happened::Accepted(from) => StreamEvent::Accepted(from),
            Happened::Connected => StreamEvent::Connected,
            Happened::Closed(why) => StreamEvent::Closed(why),
            Happened::Received => {
                let Some((bytes, end)) = streams.received(id) else {
                    return;
                };
                let event = StreamEvent::Received { bytes, end };
                let done_with = self.machine.handle_stream(now, id, event);
                return streams.consume(id, done_with);
            }
            Happened::Writable => {
                return streams.write(id, &mut |room| self.machine.poll_write(id, room));
            }
        };
        self.machine.handle_stream(now, id, event);
    }

    /// Carries out the machine's next operation on connections. Returns `false` if there is none.
    fn carry_out<L: Link<M::Peer>>(&mut self, link: Option<&mut L>) -> bool {
        let Some(streams) = link.and_then(Link::streams) else {
            return self.machine.poll_stream(None).is_some();
        };
        let Some(wanted) = self.machine.poll_stream(streams.vacant()) else {
            return false;
        };
        match wanted {
            StreamOp::Open(to) => streams.open(to),
            StreamOp::Write(id) => {
                streams.write(id, &mut |room| self.machine.poll_write(id, room));
            }
            StreamOp::Read(id) => streams.receive_again(id),
            StreamOp::Finish(id) => streams.finish(id),
            StreamOp::Close(id) => streams.close(id),
            StreamOp::Abort(id) => streams.abort(id),
        }
        true
    }

    /// Encodes the machine's messages, up to a batch.
    fn fill(&mut self) {
        while let Some(buffer) = self.transmit.next_buffer() {
            let Some(Transmit { len, to, ticket }) = self.machine.poll_transmit(buffer) else {
                break;
            };
            self.transmit.push(len, to);
            self.tickets.push(ticket);
        }
    }

    /// Sends the batch and reports each message's outcome. A refused message does not hold up those behind it: the
    /// reason may be its length or its destination.
    fn flush<L: Link<M::Peer>>(&mut self, now: Now, mut link: Option<&mut L>) {
        self.send(now, link.as_deref_mut());
        if let Some(link) = link.filter(|_| self.machine.asks_when_left()) {
            self.machine.handle_left(link.left_by(now));
        }
    }

    fn send<L: Link<M::Peer>>(&mut self, now: Now, mut link: Option<&mut L>) {
        let mut tickets = self.tickets.drain(..);
        loop {
            let link = link.as_deref_mut();
            let result = link.map_or(Ok(0), |link| link.send(&self.transmit));
            let accepted = *result.as_ref().unwrap_or(&0);
            for ticket in tickets.by_ref().take(accepted) {
                self.machine.handle_sent(now, ticket, Sent::Accepted);
            }
            match result {
                // The link refused the rest; the next call says why.
                Ok(1..) if tickets.len() > 0 => self.transmit.drop_first(accepted),
                Err(refused) => {
                    let Some(ticket) = tickets.next() else { break };
                    let sent = match refused {
                        Refused::TooLong => Sent::TooLong,
                        Refused::Other(_) => Sent::Failed,
                    };
                    self.machine.handle_sent(now, ticket, sent);
                    self.transmit.drop_first(1);
                }
                _ => break,
            }
            if tickets.len() == 0 {
                break;
            }
        }
        for ticket in tickets {
            self.machine.handle_sent(now, ticket, Sent::Failed);
        }
        self.transmit.clear();
    }
}
