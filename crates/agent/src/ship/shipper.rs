//! A thread that carries one kind of cargo of all runs, a piece of each file in turn.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use fermi_domain::ids::EnvironmentId;
use fermi_domain::task::RunKey;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::Cargo;
use super::carrier::HttpCarrier;
use super::parcel::Step;
use super::shipment::{Consignment, Shipment};
use super::watch::{News, Watch};

/// The largest piece: with one buffer of this size per thread, memory stays flat.
const LARGEST_PIECE: usize = 1 << 20;
/// Files are looked at this often even if the kernel says nothing.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What a shipper is told.
#[derive(Clone, Debug)]
pub enum ShipOrder {
    Add {
        run: RunKey,
        folder: std::path::PathBuf,
        ranks: Vec<u32>,
        first_attempt: u32,
        is_fresh: bool,
    },
    /// Nobody writes any more: send what is left and say when it is done.
    Rest(RunKey),
    Drop(RunKey),
    /// The server is there and calls us so.
    Welcomed(EnvironmentId),
}

/// The handle on a shipper's thread; dropping it ends the thread.
#[derive(Debug)]
pub struct Shipper {
    orders: Sender<ShipOrder>,
    bell: Arc<EventFd>,
}

impl Shipper {
    /// Starts the thread. `taken` hears of each run of which all has arrived.
    pub fn start(cargo: Cargo, carrier: HttpCarrier, taken: impl Fn(RunKey) + Send + 'static) -> std::io::Result<Self> {
        let (orders, inbox) = channel();
        let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let ring = bell.clone();
        let name = match cargo {
            Cargo::Journal => "ship-journal",
            Cargo::Streams => "ship-streams",
        };
        thread::Builder::new().name(name.into()).stack_size(512 * 1024).spawn(move || {
            Work::new(cargo, carrier, inbox, ring).run(&taken);
        })?;
        Ok(Self { orders, bell })
    }

    pub fn order(&self, order: ShipOrder) {
        let _ = self.orders.send(order);
        let _ = self.bell.write(1);
    }
}

impl Drop for Shipper {
    fn drop(&mut self) {
        // The closed channel is seen when the bell rings.
        self.orders = channel().0;
        let _ = self.bell.write(1);
    }
}

struct Work {
    cargo: Cargo,
    carrier: HttpCarrier,
    inbox: Receiver<ShipOrder>,
    bell: Arc<EventFd>,
    watch: Option<Watch>,
    shipments: BTreeMap<RunKey, Shipment>,
    /// The server was not there: nothing is tried before.
    away_until: Option<Instant>,
    pause: Duration,
    looked: Instant,
    /// After which file of which run the next round begins.
    after: Option<(RunKey, usize)>,
}

impl Work {
    fn new(cargo: Cargo, carrier: HttpCarrier, inbox: Receiver<ShipOrder>, bell: Arc<EventFd>) -> Self {
        Self {
            cargo,
            carrier,
            inbox,
            bell,
            watch: Watch::open(),
            shipments: BTreeMap::new(),
            away_until: None,
            pause: FIRST_PAUSE,
            looked: Instant::now(),
            after: None,
        }
    }

    fn run(mut self, taken: &impl Fn(RunKey)) {
        let mut buffer = vec![0; LARGEST_PIECE];
        while self.obey() {
            self.hear_news();
            let moved = self.may_send() && self.carry_one(&mut buffer);
            self.settle(taken);
            if !moved {
                self.wait();
            }
        }
    }

    /// Takes all orders; false when nobody will give any more.
    fn obey(&mut self) -> bool {
        loop {
            match self.inbox.try_recv() {
                Ok(ShipOrder::Add { run, folder, ranks, first_attempt, is_fresh }) => {
                    let what = Consignment { run: run.clone(), folder, ranks, first_attempt, is_fresh };
                    self.shipments.insert(run.clone(), Shipment::new(what, self.cargo));
                    self.discover(&run);
                }
                Ok(ShipOrder::Rest(run)) => {
                    if let Some(shipment) = self.shipments.get_mut(&run) {
                        shipment.ends = true;
                    }
                    self.discover(&run);
                    if let Some(shipment) = self.shipments.get_mut(&run) {
                        shipment.look_at_all();
                    }
                }
                Ok(ShipOrder::Drop(run)) => self.forget(&run),
                Ok(ShipOrder::Welcomed(environment)) => {
                    self.carrier.environment = Some(environment);
                    (self.away_until, self.pause) = (None, FIRST_PAUSE);
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn discover(&mut self, run: &RunKey) {
        let Some(shipment) = self.shipments.get_mut(run) else { return };
        // Twice: what came into being before its folder was watched would not be told.
        for _ in 0..2 {
            for place in shipment.discover() {
                if let Some(watch) = &mut self.watch {
                    watch.add(run, place);
                }
            }
        }
    }

    fn forget(&mut self, run: &RunKey) {
        self.shipments.remove(run);
        if let Some(watch) = &mut self.watch {
            watch.forget(run);
        }
    }

    fn hear_news(&mut self) {
        let news = self.watch.as_ref().map(Watch::news).unwrap_or_default();
        let mut look_at_all = self.looked.elapsed() >= LOOK_EVERY;
        for item in news {
            match item {
                News::Everywhere => look_at_all = true,
                News::At(run, parcels) if parcels.is_empty() => self.discover(&run),
                News::At(run, parcels) => {
                    if let Some(shipment) = self.shipments.get_mut(&run) {
                        shipment.look_at(parcels);
                    }
                }
            }
        }
        if look_at_all {
            self.looked = Instant::now();
            for run in self.shipments.keys().cloned().collect::<Vec<_>>() {
                self.discover(&run);
            }
            self.shipments.values_mut().filter(|shipment| !shipment.ends).for_each(Shipment::look_at_all);
        }
    }

    fn may_send(&self) -> bool {
        self.carrier.environment.is_some() && self.away_until.is_none_or(|until| Instant::now() >= until)
    }

    /// One piece of the next file that has something; false when none has.
    fn carry_one(&mut self, buffer: &mut [u8]) -> bool {
        let now = Instant::now();
        let Some((run, index)) = self.next_due(now) else { return false };
        self.after = Some((run.clone(), index));
        let Some(shipment) = self.shipments.get_mut(&run) else { return false };
        let Some(parcel) = shipment.parcels.get_mut(index) else { return false };
        match parcel.step(&mut self.carrier, buffer, now) {
            Step::Moved => self.pause = FIRST_PAUSE,
            Step::Unwanted => shipment.unwanted = true,
            Step::Idle | Step::Later => {}
            Step::Unreachable => {
                self.away_until = Some(now + self.pause);
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            }
        }
        true
    }

    /// In turn over all files, so that one that floods does not starve the others.
    fn next_due(&self, now: Instant) -> Option<(RunKey, usize)> {
        let due = |from: Option<&(RunKey, usize)>| {
            let runs = self.shipments.iter().filter(|(_, shipment)| !shipment.unwanted);
            let files = runs.flat_map(|(run, shipment)| (0..).zip(&shipment.parcels).map(move |file| (run, file)));
            let mut later = files.filter(|(run, (index, _))| from.is_none_or(|(last, at)| (*run, index) > (last, at)));
            later.find(|(_, (_, parcel))| parcel.is_due(now)).map(|(run, (index, _))| (run.clone(), index))
        };
        due(self.after.as_ref()).or_else(|| due(None))
    }

    fn settle(&mut self, taken: &impl Fn(RunKey)) {
        let done: Vec<RunKey> =
            self.shipments.iter().filter(|(_, shipment)| shipment.is_done()).map(|(run, _)| run.clone()).collect();
        for run in done {
            self.forget(&run);
            taken(run);
        }
    }

    fn wait(&self) {
        let now = Instant::now();
        let parcels = self.shipments.values().flat_map(|shipment| &shipment.parcels);
        let due = parcels.filter_map(|parcel| parcel.waits_until()).chain(self.away_until).filter(|at| *at > now).min();
        let look = if self.shipments.is_empty() { None } else { Some(self.looked + LOOK_EVERY) };
        let until = due.into_iter().chain(look).min();
        let timeout = until.map_or(PollTimeout::NONE, |at| {
            let left = at.saturating_duration_since(now).as_millis() + 1;
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        });
        let mut fds = vec![PollFd::new(self.bell.as_fd(), PollFlags::POLLIN)];
        // While the server is away, news would only wake us for nothing.
        if let Some(watch) = self.watch.as_ref().filter(|_| self.may_send()) {
            fds.push(PollFd::new(watch.as_fd(), PollFlags::POLLIN));
        }
        // An interrupted wait is a wait that ended early.
        let _ = poll(&mut fds, timeout);
        let _ = self.bell.read();
    }
}
