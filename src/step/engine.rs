//! The one door to an engine: what a simulation asks of whatever steps its state.

use std::future::{Future, ready};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use serde::Serialize;

#[cfg(feature = "gpu")]
use super::gpu::GpuEngine;
use super::{Canceller, Pass};
use crate::model::error::Result;
use crate::model::{Model, ModelBody};
use crate::state::layout::{Body, Bond};
use crate::state::trace::{Sample, Trace};
use crate::state::{Field, State};

/// Time that each pass took, in the order of [`Pass::ALL`].
pub type PassTimes = [Duration; Pass::ALL.len()];

/// Cost of a run on a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClusterCost {
    /// Number of ranks.
    pub ranks: usize,
    /// The longest time that a rank has computed over the mean of all; 1 where all have taken the same.
    pub imbalance: f64,
    /// The part of the time in which ranks sent and waited for each other, 0 to 1.
    pub communication: f64,
    /// Bytes that all ranks together have sent in a step.
    pub bytes_per_step: f64,
    /// Messages that they have sent in a step, but for those of sums over all ranks.
    pub messages_per_step: f64,
    /// Copies of bodies of others that a rank had, in the mean.
    pub ghosts_per_rank: f64,
    /// Bodies that a rank has now at most, with these copies.
    pub most_bodies: usize,
    /// Number of times that the neighbour lists were built.
    pub lists: u64,
    /// Number of these times before which bodies went to other ranks and copies were chosen anew.
    pub handovers: u64,
}

/// A file that an engine of many processes writes, each what it has.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct SharedFile<'a> {
    /// Path of the file. It is there, and empty.
    pub path: &'a Path,
    /// Number of its bytes.
    pub length: u64,
    /// Bytes that the host has, with their places in the file.
    pub pieces: &'a [(u64, &'a [u8])],
    /// Buffers of which the processes have the elements of their bodies, with their places in the file.
    pub fields: &'a [(Field, u64)],
}

/// Numbers of bodies and spheres before a part of a state, and the spheres of other parts that it has.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Before {
    /// Number of bodies before it.
    pub bodies: u32,
    /// Number of spheres before it.
    pub spheres: u32,
    /// Places in the whole of the spheres that follow its own.
    pub others: Vec<u32>,
    /// Bodies of other parts to which contacts or bonds lead, if somebody has asked for them, with their indices in the whole, in order.
    /// Their spheres are counted from the first of the part.
    pub ends: Vec<(u32, Body)>,
}

impl Before {
    /// Index in the whole of a body of the part, or of one that the part names.
    pub(crate) fn body(&self, own: u32) -> u32 {
        // One before these is counted from the first of them, too.
        own.wrapping_add(self.bodies)
    }

    /// A body of the part, or one to which something leads, given its index in the whole.
    pub(crate) fn end<'a>(&'a self, part: &'a State, body: u32) -> &'a Body {
        let own = body.checked_sub(self.bodies);
        match own.and_then(|own| part.bodies.get(own as usize)) {
            Some(own) => own,
            None => {
                let place = self.ends.binary_search_by_key(&body, |(index, _)| *index);
                &self.ends[place.expect("it was asked for")].1
            }
        }
    }

    /// Bodies of the whole, of those given, that are not among the `own` ones of a part; in order.
    pub(crate) fn missing(own: &Range<u32>, bodies: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut missing: Vec<u32> = bodies.filter(|body| !own.contains(body)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Sets [`Before::ends`] to bodies of the whole, whose spheres are counted from its first.
    pub(crate) fn set_ends(&mut self, mut bodies: Vec<(u32, Body)>) {
        for (_, body) in &mut bodies {
            body.first_sphere = body.first_sphere.wrapping_sub(self.spheres);
        }
        self.ends = bodies;
    }

    /// Index in the whole of a sphere of the part, which has `count`, or of one that follows them.
    pub(crate) fn sphere(&self, own: u32, count: u32) -> u32 {
        match own.checked_sub(count) {
            Some(other) => self.others[other as usize],
            None => own + self.spheres,
        }
    }
}

/// Work that all processes of an engine do together, each on a part of the state: what it is, is in a message, and each says something
/// in the end. It is a function of a higher layer, the same in all of them.
#[doc(hidden)]
pub type Work = fn(&mut dyn Share, &[u8]) -> Vec<u8>;

/// A file that is written here and there.
#[doc(hidden)]
pub trait WriteSeek: io::Write + io::Seek {}
impl<T: io::Write + io::Seek> WriteSeek for T {}

/// Work of one of many processes, which all call the same methods in the same order.
#[doc(hidden)]
pub trait Share {
    /// Number of this process, from 0.
    fn rank(&self) -> usize;

    /// Numbers of bodies and spheres of the whole state.
    fn counts(&self) -> [usize; 2];

    /// The whole state without bodies, and what comes with them.
    fn outline(&self) -> &State;

    /// The bytes of all of them, one after the other; each gives as many.
    fn all_gather(&self, own: &[u8]) -> Vec<u8>;

    /// Opens a file that all of them see, and that is there, to write a part of it.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Box<dyn WriteSeek>>;

    /// Calls a function with the share of this process in the state, some bodies at a time. The shares follow each other in the order of
    /// the bodies, whoever steps those. A part is as [`Engine::read_part`] has it, with the bodies at the ends of its bonds.
    fn for_each_part(&mut self, fields: &[Field], act: &mut dyn FnMut(&State, &Before));
}

/// Bodies of a state that are elsewhere, such as in a file.
#[doc(hidden)]
pub trait Source: MaybeSend {
    /// Makes a state of some of the bodies, with all that they carry, but without the places of their spheres. `whole` is the state that
    /// is [free](State::free) of them. Lists have spheres as the whole has them; so many spheres come before the part.
    ///
    /// # Errors
    /// If the bodies cannot be read.
    fn part(&self, whole: &State, bodies: Range<usize>) -> Result<(State, u32)>;

    /// Gives a [free](State::free) state the elements of all bodies.
    ///
    /// # Errors
    /// If they cannot be read.
    fn fill(&self, state: &mut State) -> Result<()>;
}

/// Result of an engine for those who cannot block.
#[doc(hidden)]
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// Way to wait for a device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// The thread waits: a future that waits like this is never pending.
    Block,
    /// The future is pending meanwhile.
    Yield,
}

/// [`Send`], but in a browser, where what belongs to a device stays on one thread.
#[doc(hidden)]
#[cfg(not(target_family = "wasm"))]
pub trait MaybeSend: Send {}
#[cfg(not(target_family = "wasm"))]
impl<T: Send> MaybeSend for T {}
/// [`Send`], but in a browser, where what belongs to a device stays on one thread.
#[doc(hidden)]
#[cfg(target_family = "wasm")]
pub trait MaybeSend {}
#[cfg(target_family = "wasm")]
impl<T> MaybeSend for T {}

/// An engine that steps a [`State`].
///
/// The host has a copy of the state, which it gives to each method. For an engine on the host that copy is the
/// state itself: there is nothing to read or write, but what it may keep in a form of its own, as the CPU engine does
/// contact histories. An engine on a device has the state in buffers of its own, and
/// the host's copy has what was last read, but [`State::params`], [`State::stats`] and the numbers of bodies and
/// spheres, which are right after each call.
#[doc(hidden)]
pub trait Engine: MaybeSend {
    /// Name of the engine, as on the command line: `"cpu"`, `"gpu"`.
    fn name(&self) -> &'static str;

    /// Device or processor that it runs on, in words.
    fn device(&self) -> String;

    /// Takes `count` steps after the first `taken`, and adds the samples of the trace to `samples`. Returns how
    /// many it took: fewer, if a body was lost in the last of them, or somebody cancelled.
    ///
    /// # Errors
    /// If the device is lost, or has no memory for larger neighbour lists.
    fn step(
        &mut self,
        state: &mut State,
        taken: u64,
        count: u64,
        samples: &mut Vec<Sample>,
    ) -> Result<u64>;

    /// [`Engine::step`] for those who cannot block. An engine on the host has taken the steps when this returns.
    fn step_async<'a>(
        &'a mut self,
        state: &'a mut State,
        taken: u64,
        count: u64,
        samples: &'a mut Vec<Sample>,
    ) -> Later<'a, u64> {
        Box::pin(ready(self.step(state, taken, count, samples)))
    }

    /// Takes `count` steps as [`Engine::step`], and times their passes; `None` where the device has no clock.
    ///
    /// # Errors
    /// As [`Engine::step`].
    fn profile(&mut self, state: &mut State, taken: u64, count: u64) -> Result<Option<PassTimes>>;

    /// Ends steps early from now on when `canceller` says so.
    fn set_canceller(&mut self, canceller: Canceller);

    /// Samples the bodies of `trace`, which are given by their indices, from now on.
    fn set_trace(&mut self, trace: Trace, state: &State);

    /// Reads buffers into the host's copy.
    ///
    /// # Errors
    /// If the device is lost.
    fn read(&mut self, _fields: &[Field], _state: &mut State) -> Result<()> {
        Ok(())
    }

    /// [`Engine::read`] for those who cannot block.
    fn read_async<'a>(&'a mut self, fields: &'a [Field], state: &'a mut State) -> Later<'a, ()> {
        Box::pin(ready(self.read(fields, state)))
    }

    /// Reads one body, its temperature, what acts on it, and the loads on its spheres, into the host's copy.
    ///
    /// # Errors
    /// If the device is lost.
    fn read_body(&mut self, _body: usize, _state: &mut State) -> Result<()> {
        Ok(())
    }

    /// [`Engine::read_body`] for those who cannot block.
    fn read_body_async<'a>(&'a mut self, body: usize, state: &'a mut State) -> Later<'a, ()> {
        Box::pin(ready(self.read_body(body, state)))
    }

    /// Takes over one body, its temperature and what acts on it: whoever changes it has
    /// [read](Engine::read_body) it before.
    fn write_body(&mut self, body: usize, state: &State) {
        self.write_bodies(body..body + 1, state);
    }

    /// Takes over bodies that follow each other, as [`Engine::write_body`] does one.
    fn write_bodies(&mut self, _bodies: Range<usize>, _state: &State) {}

    /// Wakes all bodies, if it need not have them written for that. Returns whether it did.
    fn wake(&mut self) -> bool {
        false
    }

    /// Does as [`State::untilt`], if it need not have bodies written for that. Returns whether it did.
    fn untilt(&mut self, _axes: [usize; 2], _turns: i32) -> bool {
        false
    }

    /// Takes over buffers of the host's copy; their lengths are those of before.
    fn write(&mut self, _fields: &[Field], _state: &State) {}

    /// Takes over [`State::actions`], of which there may be another number than before.
    ///
    /// # Errors
    /// As [`Engine::replace`].
    fn write_actions(&mut self, _state: &State) -> Result<()> {
        Ok(())
    }

    /// Takes over [`State::params`], and the walls that move by prescription.
    fn write_params(&mut self, _state: &State) {}

    /// Takes over that the neighbour lists are stale, and nothing else of [`State::stats`].
    fn write_stale(&mut self, _state: &State) {}

    /// Adds bodies of `model` with their ids, which are larger than any before, at the end of the engine's state and of the host's
    /// copy ([`State::extend`]). That copy may be out of date.
    ///
    /// # Errors
    /// If a buffer would be larger than the device allows or has memory for. No body is added then.
    fn append(
        &mut self,
        model: &Model,
        bodies: Vec<(u64, ModelBody)>,
        state: &mut State,
    ) -> Result<()> {
        state.extend(model, bodies);
        Ok(())
    }

    /// [`Engine::append`] for those who cannot block.
    fn append_async<'a>(
        &'a mut self,
        model: &'a Model,
        bodies: Vec<(u64, ModelBody)>,
        state: &'a mut State,
    ) -> Later<'a, ()> {
        Box::pin(ready(self.append(model, bodies, state)))
    }

    /// Takes bodies away, given by their indices in increasing order, from the engine's state and from the host's copy
    /// ([`State::remove`]). That copy may be out of date; what the bodies have dissipated is in [`State::gone`]
    /// afterwards.
    ///
    /// # Errors
    /// If the device is lost, or has no memory to move the others in.
    fn remove(&mut self, bodies: &[u32], state: &mut State) -> Result<()> {
        state.remove(bodies);
        Ok(())
    }

    /// [`Engine::remove`] for those who cannot block.
    fn remove_async<'a>(&'a mut self, bodies: &'a [u32], state: &'a mut State) -> Later<'a, ()> {
        Box::pin(ready(self.remove(bodies, state)))
    }

    /// Takes over the whole state, which may have other bodies than before.
    ///
    /// # Errors
    /// If a buffer would be larger than the device allows or has memory for.
    fn replace(&mut self, _state: &State) -> Result<()> {
        Ok(())
    }

    /// [`Engine::replace`] with a state that is [free](State::free), and whose bodies are in a source. An engine that takes them part by
    /// part leaves it so.
    ///
    /// # Errors
    /// As [`Engine::replace`], and those of the source. Where bodies are taken part by part, these come with the first step.
    fn replace_from(&mut self, state: &mut State, source: Box<dyn Source>) -> Result<()> {
        source.fill(state)?;
        // Both need not be in memory at the same time.
        drop(source);
        self.replace(state)
    }

    /// [`Engine::replace`] for those who cannot block.
    fn replace_async<'a>(&'a mut self, state: &'a State) -> Later<'a, ()> {
        Box::pin(ready(self.replace(state)))
    }

    /// Takes over the whole state with the passes that it needs now: forces may act that did not before.
    ///
    /// # Errors
    /// As [`Engine::replace`].
    fn restart(&mut self, _state: &State) -> Result<()> {
        Ok(())
    }

    /// [`Engine::restart`] for those who cannot block.
    fn restart_async<'a>(&'a mut self, state: &'a State) -> Later<'a, ()> {
        Box::pin(ready(self.restart(state)))
    }

    /// Size of all buffers, bytes.
    fn memory(&self, state: &State) -> u64;

    /// Whether the elements of a buffer are with many processes, which write a file together ([`Engine::write_file`]).
    fn is_spread(&self, _field: Field) -> bool {
        false
    }

    /// Reads some bodies, and those of `fields` that are [spread](Engine::is_spread), into a state that has those alone. Their lists have
    /// each contact once, at the sphere that comes first in the whole, and each bond once, at its first body; the spheres of other bodies that they name follow those of the
    /// part, and their bodies are counted from the first of the part.
    ///
    /// # Errors
    /// If the device is lost.
    fn read_part(
        &mut self,
        _bodies: Range<u32>,
        _fields: &[Field],
        _part: &mut State,
    ) -> Result<Before> {
        Ok(Before::default())
    }

    /// Reads some bodies, if many processes have them. Returns them with their indices, in order.
    fn read_bodies(&mut self, _bodies: &[u32]) -> Vec<(u32, Body)> {
        Vec::new()
    }

    /// Reads the bonds that have broken at least once, if many processes have them, in the order of a state.
    fn read_changed_bonds(&mut self) -> Vec<Bond> {
        Vec::new()
    }

    /// Reads into the host's copy what is not spread, and gives the neighbour lists there the lengths that they have by now.
    ///
    /// # Errors
    /// If the device is lost.
    fn read_rest(&mut self, _state: &mut State) -> Result<()> {
        Ok(())
    }

    /// Has many processes write a file together. Returns the [hashes](crate::math::hash) of its blocks.
    ///
    /// # Errors
    /// If one of them cannot.
    fn write_file(&mut self, _file: &SharedFile, _state: &State) -> Result<Vec<u64>> {
        Ok(Vec::new())
    }

    /// Has many processes do work together, if they have the state. Returns what each of them says.
    fn together(&mut self, _work: Work, _message: &[u8], _state: &State) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Whether it is made of many processes.
    fn is_cluster(&self) -> bool {
        false
    }

    /// Costs of a run on a cluster; None on one machine.
    fn cluster_cost(&mut self) -> Option<ClusterCost> {
        None
    }

    /// The GPU engine, for those who draw from its buffers.
    #[cfg(feature = "gpu")]
    fn as_gpu(&self) -> Option<&GpuEngine> {
        None
    }
}
