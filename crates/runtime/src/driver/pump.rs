//! Passes inputs to a state machine, and performs all outputs that the inputs cause.

use std::convert::Infallible;
use std::io;

use ring_proto::time::{Instant, Now};
use ring_proto::{
    JobRequest, Machine, SendOutcome, StoreOutcome, StreamEvent, StreamId, StreamOp, Ticket,
    Transmit,
};

use super::{IoEvent, Link, ReceiveBatch, Refused, Streams, TransmitBatch, frames};

/// Maximum number of timeouts that one loop iteration handles. Several timeouts may be necessary, because handling one
/// timeout may set the next deadline to the same time.
const TIMEOUTS_PER_TURN: usize = 4;

/// A store for the data that must survive a restart.
pub trait Store<D> {
    /// Stores `durable`. If this fails, the store logs the failure.
    fn store(&mut self, durable: &D) -> StoreOutcome;
}

/// A store for machines that store nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoStore;

impl Store<Infallible> for NoStore {
    fn store(&mut self, durable: &Infallible) -> StoreOutcome {
        match *durable {}
    }
}

/// An observer that sees every event of a machine and cannot change anything.
pub trait Observe<E> {
    /// Handles an event that happened at `now`.
    fn observe(&mut self, now: Now, event: &E);
}

/// The environment of a machine: its link, its store and its observer.
#[derive(Debug)]
pub struct Environment<'a, L, S, O> {
    /// Link that carries the messages; `None` while there is no link.
    pub link: Option<&'a mut L>,
    /// Store for the data that must survive a restart.
    pub store: &'a mut S,
    /// Observer of events.
    pub observer: &'a mut O,
}

/// Drives one machine. Each call performs all outputs of the machine before it returns.
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
    /// Makes a driver for `machine`. The driver uses a link that carries frames.
    pub fn new(machine: M) -> Self {
        Self::with_batches(machine, frames::receive_batch(), frames::transmit_batch())
    }
}

impl<M: Machine> Driver<M> {
    /// Makes a driver for `machine` with batches of the caller's size.
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

    /// Returns the time for the next call of [`timeout`](Self::timeout); `None` if no call is necessary.
    pub fn deadline(&self) -> Option<Instant> {
        self.pump.machine.poll_timeout()
    }

    /// Runs one loop iteration that began at `now`. If `arrived` is `true`, first handles the messages that have
    /// arrived. Then handles the timeouts.
    ///
    /// If the machine's deadline has passed, this function first handles all messages that arrived before `now`, even
    /// if `arrived` is `false`. Otherwise, a timeout could occur although its message has arrived, only because this
    /// process was late. This function always handles events of connections that are [due](Streams::is_due).
    ///
    /// # Errors
    /// Fails if the link cannot receive. In this case, the call handles no timeouts. The next call handles them.
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
            let more = self.receive_batch(present, environment)?;
            self.report_lateness(&mut clock, environment);
            self.dispatch_messages(environment);
            let newest = self.received.newest();
            if !more || newest.is_some_and(|came| came > now.monotonic) {
                break;
            }
            handled += self.received.capacity().max(self.received.len());
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
            if !self.handle_stream(&mut clock, environment) {
                break;
            }
        }
        if self.is_due(now) {
            self.report_lateness(&mut clock, environment);
        }
        for _ in 0..TIMEOUTS_PER_TURN {
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

    /// Receives one batch and handles each of its messages. Returns whether the batch was full. After a full batch, the
    /// link may have more messages. The caller decides when it calls this function again.
    ///
    /// # Errors
    /// Fails if the link cannot receive. The driver does not report this error to the machine.
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
        let more = self.receive_batch(now, environment)?;
        self.dispatch_messages(environment);
        Ok(more)
    }

    /// Receives one batch. Returns whether the batch is full.
    fn receive_batch<L, S, O>(
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

    fn dispatch_messages<L, S, O>(&mut self, environment: &mut Environment<'_, L, S, O>)
    where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        let gathers = self.pump.machine.can_batch_output();
        let mut left = self.received.len();
        for (message, from, now, age) in self.received.iter() {
            self.pump.machine.handle_message(now, from, message, age);
            left -= 1;
            if !gathers || left == 0 {
                self.pump.drain(now, environment);
            }
        }
    }

    /// Reports the current time to the machine, if the machine needs it to find out how late its process is.
    fn report_lateness<L, S, O>(
        &mut self,
        clock: &mut impl FnMut() -> Now,
        environment: &mut Environment<'_, L, S, O>,
    ) where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        if self.pump.machine.has_lateness_handler() {
            let now = clock();
            self.pump.machine.handle_lateness(now);
            self.pump.drain(now, environment);
        }
    }

    /// Handles the next event of a connection. Returns whether there was an event.
    fn handle_stream<L, S, O>(
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
        let Some((streams, (id, event))) =
            streams.and_then(|streams| streams.next_event().map(|next| (streams, next)))
        else {
            return false;
        };
        // The driver reads the clock for each event. With an older time, the machine would take a late event for an
        // event that came in time.
        let now = clock();
        self.pump.on_stream_event(now, streams, id, event);
        self.pump.drain(now, environment);
        true
    }

    /// Returns the machine's next request to run a job outside the loop, or to cancel jobs.
    pub fn next_job(&mut self) -> Option<JobRequest<M::Job>> {
        self.pump.machine.poll_job()
    }

    /// Handles the machine's timeouts at `now`.
    pub fn timeout<L, S, O>(&mut self, now: Now, environment: &mut Environment<'_, L, S, O>)
    where
        L: Link<M::Peer>,
        S: Store<M::Durable>,
        O: Observe<M::Event>,
    {
        self.pump.machine.handle_timeout(now);
        self.pump.drain(now, environment);
    }

    /// Gives the machine a command.
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

    /// Reports a new state of the network to the machine.
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
            // The driver sends all messages before it performs operations on connections. It does both only after all
            // durable data are stored.
            if !self.tickets.is_empty() {
                self.flush(now, environment.link.as_deref_mut());
            } else if !self.apply_stream_op(environment.link.as_deref_mut()) {
                break;
            }
        }
        while let Some(event) = self.machine.poll_event() {
            environment.observer.observe(now, &event);
        }
    }

    fn on_stream_event(
        &mut self,
        now: Now,
        streams: &mut dyn Streams<M::Peer>,
        id: StreamId,
        event: IoEvent<M::Peer>,
    ) {
        let event = match event {
            IoEvent::Accepted(from) => StreamEvent::Accepted(from),
            IoEvent::Connected => StreamEvent::Connected,
            IoEvent::Closed(why) => StreamEvent::Closed(why),
            IoEvent::Received => {
                let Some((bytes, end)) = streams.received(id) else {
                    return;
                };
                let event = StreamEvent::Received { bytes, end };
                let done_with = self.machine.handle_stream(now, id, event);
                return streams.consume(id, done_with);
            }
            IoEvent::Writable => {
                return streams.write(id, &mut |room| self.machine.poll_write(id, room));
            }
        };
        self.machine.handle_stream(now, id, event);
    }

    /// Performs the machine's next operation on connections. Returns whether such an operation existed.
    fn apply_stream_op<L: Link<M::Peer>>(&mut self, link: Option<&mut L>) -> bool {
        let Some(streams) = link.and_then(Link::streams) else {
            return self.machine.poll_stream(None).is_some();
        };
        let Some(wanted) = self.machine.poll_stream(streams.next_id()) else {
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

    /// Encodes the machine's messages, up to one batch.
    fn fill(&mut self) {
        while let Some(buffer) = self.transmit.next_buffer() {
            let Some(Transmit { len, to, ticket }) = self.machine.poll_transmit(buffer) else {
                break;
            };
            self.transmit.push(len, to);
            self.tickets.push(ticket);
        }
    }

    /// Sends the batch and reports the outcome of each message.
    fn flush<L: Link<M::Peer>>(&mut self, now: Now, mut link: Option<&mut L>) {
        self.send(now, link.as_deref_mut());
        if let Some(link) = link.filter(|_| self.machine.wants_flush_report()) {
            self.machine.handle_flushed(link.sent_by(now));
        }
    }

    fn send<L: Link<M::Peer>>(&mut self, now: Now, mut link: Option<&mut L>) {
        let mut tickets = self.tickets.drain(..);
        loop {
            let link = link.as_deref_mut();
            let result = link.map_or(Ok(0), |link| link.send(&self.transmit));
            let accepted = *result.as_ref().unwrap_or(&0);
            for ticket in tickets.by_ref().take(accepted) {
                self.machine.handle_sent(now, ticket, SendOutcome::Accepted);
            }
            match result {
                // The link refused the first of the remaining messages. The next call of `send` returns the reason.
                Ok(1..) if tickets.len() > 0 => self.transmit.drop_first(accepted),
                Err(refused) => {
                    // Drop only the refused message, and send the messages after it. The reason for the refusal may be
                    // the length or the destination of this message.
                    let Some(ticket) = tickets.next() else { break };
                    let sent = match refused {
                        Refused::TooLong => SendOutcome::TooLong,
                        Refused::Other(_) => SendOutcome::Failed,
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
            self.machine.handle_sent(now, ticket, SendOutcome::Failed);
        }
        self.transmit.clear();
    }
}
