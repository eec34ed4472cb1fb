//! Runs on a cluster: mpirun starts the ranks, and all others do what the first one says.

use std::env;

/// Number of ranks that a launcher of MPI has started, and the rank of this process; None without a launcher, or for a
/// single rank.
fn launched() -> Option<(usize, usize)> {
    let number = |name: &str| env::var(name).ok()?.trim().parse().ok();
    let pairs = [
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
        ("PMI_SIZE", "PMI_RANK"),
    ];
    let started = |(size, rank)| Some((number(size)?, number(rank)?));
    pairs
        .into_iter()
        .find_map(started)
        .filter(|(size, _)| *size > 1)
}

#[cfg(feature = "mpi")]
pub use with_mpi::join;
#[cfg(not(feature = "mpi"))]
pub use without::join;

/// A build without MPI.
#[cfg(not(feature = "mpi"))]
mod without {
    use rockfall::simulation::Cluster;

    use crate::failure::{Failure, Outcome};

    /// The part of this process: the whole run.
    pub struct Role;

    impl Role {
        /// The ranks to run on: none.
        pub fn cluster(&self) -> Option<Cluster> {
            None
        }

        /// Ends the run; there is no other rank to tell.
        pub fn end(self) {}
    }

    /// Finds out what to do. Under mpirun this is an error, because all processes would do the same.
    pub fn join() -> Outcome<Option<Role>> {
        let Some((size, rank)) = super::launched() else {
            return Ok(Some(Role));
        };
        let sentence = format!(
            "mpirun has started {size} processes, and this build of Rockfall has no MPI, so each would \
             do the same; build it with `cargo build --release --features mpi`, or start one without mpirun"
        );
        Err(match rank {
            0 => Failure::Usage(sentence),
            _ => Failure::Silent,
        })
    }
}

/// A build with MPI.
#[cfg(feature = "mpi")]
mod with_mpi {
    use std::fs::OpenOptions;
    use std::io::{self, Seek, SeekFrom, Write};
    use std::panic;
    use std::path::Path;
    use std::sync::Arc;

    use mpi::Threading;
    use mpi::collective::SystemOperation;
    use mpi::environment::Universe;
    use mpi::ffi;
    use mpi::topology::SimpleCommunicator;
    use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
    use rockfall::internals::cluster::{self, Ranks};
    use rockfall::output::write_share;
    use rockfall::simulation::{Cluster, serve_rank};
    use rockfall::step::WriteSeek;

    use crate::failure::{Failure, Outcome};
    use crate::{interrupts, terminal};

    /// Bytes of a message of MPI at most: it counts them in 31 bits.
    const MOST: usize = 1 << 30;

    /// The part of this process: the run, on the ranks that there are.
    pub struct Role {
        cluster: Option<(Universe, Arc<dyn Ranks>)>,
    }

    impl Role {
        /// The ranks to run on.
        pub fn cluster(&self) -> Option<Cluster> {
            let (_, ranks) = self.cluster.as_ref()?;
            Some(Cluster(Arc::clone(ranks)))
        }

        /// Tells the other ranks that the run has ended.
        pub fn end(self) {
            if let Some((universe, ranks)) = self.cluster {
                cluster::end(&*ranks);
                drop(ranks);
                drop(universe);
            }
        }
    }

    /// Has the system get back the memory of large buffers as soon as they are freed, and keeps that of smaller ones.
    ///
    /// The C library of GNU would learn to keep that of buffers of up to 32 MiB: up to a fifth of the memory of a rank with a million balls.
    /// It would give back all that is free at the end of its memory, and then each time that lists are built would begin with new pages.
    fn return_memory() {
        #[cfg(target_env = "gnu")]
        {
            unsafe extern "C" {
                fn mallopt(parameter: i32, value: i32) -> i32;
            }
            const M_TRIM_THRESHOLD: i32 = -1;
            const M_MMAP_THRESHOLD: i32 = -3;
            // SAFETY: the function only sets numbers of the allocator, and no other thread is there yet.
            unsafe {
                mallopt(M_TRIM_THRESHOLD, 32 << 20);
                mallopt(M_MMAP_THRESHOLD, 8 << 20);
            }
        }
    }

    /// Finds out what to do. A rank other than the first serves that one, and returns None at the end.
    pub fn join() -> Outcome<Option<Role>> {
        if super::launched().is_none() {
            return Ok(Some(Role { cluster: None }));
        }
        return_memory();
        let started = mpi::initialize_with_threading(Threading::Serialized);
        let Some((universe, threading)) = started else {
            return Err(Failure::Run("MPI has been started twice".to_owned()));
        };
        let world = universe.world();
        if threading < Threading::Serialized {
            return Err(Failure::Run(
                "this MPI library lacks MPI_THREAD_SERIALIZED; use another one".to_owned(),
            ));
        }
        let [local, place] = {
            // Freed before MPI ends.
            let here = world.split_shared(world.rank());
            [here.size(), here.rank()].map(|number| number as usize)
        };
        let ranks = World {
            world,
            local,
            place,
        };
        let rank = ranks.rank();
        abort_on_panic(rank);
        let ranks: Arc<dyn Ranks> = Arc::new(ranks);
        if rank == 0 {
            return Ok(Some(Role {
                cluster: Some((universe, ranks)),
            }));
        }
        // The first rank stops all of them.
        interrupts::ignore();
        serve_rank(ranks, write_share);
        drop(universe);
        Ok(None)
    }

    /// Ends all ranks when one of them panics, and prints which.
    fn abort_on_panic(rank: usize) {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            before(info);
            terminal::error(format_args!(
                "rank {rank} has failed (see above); all ranks end"
            ));
            // SAFETY: MPI is there from before this hook is set until the program ends.
            unsafe {
                ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, 1);
            }
        }));
    }

    /// All processes that were started together.
    struct World {
        world: SimpleCommunicator,
        /// Number of these processes on this machine.
        local: usize,
        /// The place of this one among them.
        place: usize,
    }

    // SAFETY: a communicator is a handle. MPI was started such that any thread may call it as long as no two do so at once; the
    // threads of a rank wait for the one that calls.
    unsafe impl Send for World {}
    // SAFETY: as above.
    unsafe impl Sync for World {}

    impl World {
        fn reduce(&self, numbers: &mut [i64], operation: SystemOperation) {
            let own = numbers.to_vec();
            self.world.all_reduce_into(&own[..], numbers, operation);
        }
    }

    impl Ranks for World {
        fn rank(&self) -> usize {
            self.world.rank() as usize
        }

        fn count(&self) -> usize {
            self.world.size() as usize
        }

        fn on_this_machine(&self) -> usize {
            self.local
        }

        fn place_on_this_machine(&self) -> usize {
            self.place
        }

        fn exchange(&self, sent: &[(usize, &[u8])], received: &mut [(usize, &mut [u8])]) {
            self.exchange_while(sent, received, &mut || ());
        }

        fn exchange_while(
            &self,
            sent: &[(usize, &[u8])],
            received: &mut [(usize, &mut [u8])],
            work: &mut dyn FnMut(),
        ) {
            mpi::request::scope(|scope| {
                let mut sends = Vec::new();
                let mut receives = Vec::new();
                for (rank, bytes) in received {
                    let from = self.world.process_at_rank(*rank as i32);
                    for part in bytes.chunks_mut(MOST) {
                        receives.push(from.immediate_receive_into(scope, part));
                    }
                }
                for (rank, bytes) in sent {
                    let to = self.world.process_at_rank(*rank as i32);
                    for part in bytes.chunks(MOST) {
                        sends.push(to.immediate_send(scope, part));
                    }
                }
                // MPI moves messages only while it is called, those of earlier calls, too.
                self.world.any_process().immediate_probe();
                work();
                for receive in receives {
                    receive.wait_without_status();
                }
                for send in sends {
                    send.wait_without_status();
                }
            });
        }

        fn write(&self, path: &Path, place: u64, bytes: &[u8]) -> io::Result<()> {
            let mut file = OpenOptions::new().write(true).open(path)?;
            file.seek(SeekFrom::Start(place))?;
            file.write_all(bytes)?;
            file.sync_all()
        }

        fn open(&self, path: &Path) -> io::Result<Box<dyn WriteSeek>> {
            Ok(Box::new(OpenOptions::new().write(true).open(path)?))
        }

        fn abort(&self, reason: &str) -> ! {
            terminal::error(format_args!(
                "rank {} has failed, and all ranks end: {reason}",
                self.rank()
            ));
            self.world.abort(1)
        }

        fn broadcast(&self, bytes: &mut Vec<u8>) {
            let first = self.world.process_at_rank(0);
            let mut length = [bytes.len() as u64];
            first.broadcast_into(&mut length[..]);
            bytes.resize(length[0] as usize, 0);
            for part in bytes.chunks_mut(MOST) {
                first.broadcast_into(part);
            }
        }

        fn maximum(&self, numbers: &mut [i64]) {
            self.reduce(numbers, SystemOperation::max());
        }

        fn sum(&self, numbers: &mut [i64]) {
            self.reduce(numbers, SystemOperation::sum());
        }

        fn all_gather(&self, own: &[u8]) -> Vec<u8> {
            let mut all = vec![0; own.len() * self.count()];
            self.world.all_gather_into(own, &mut all[..]);
            all
        }

        fn all_to_all_numbers(&self, numbers: &[u64]) -> Vec<u64> {
            let mut received = vec![0; numbers.len()];
            self.world.all_to_all_into(numbers, &mut received[..]);
            received
        }
    }
}
