//! Copies from the device to the host, which arrive when they arrive.

use std::fmt::Display;
use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use super::Context;
use crate::model::error::{Error, Result};
use crate::step::Patience;

/// The start of a staging buffer, on its way to the host.
pub(super) struct Arrival {
    staging: wgpu::Buffer,
    /// Bytes.
    length: u64,
    submission: wgpu::SubmissionIndex,
    word: Arc<Mutex<Word>>,
}

/// What mapping a staging buffer came to.
type Outcome = std::result::Result<(), wgpu::BufferAsyncError>;

/// Whether it is there.
#[derive(Default)]
struct Word {
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

impl Arrival {
    /// Waits until the bytes are there.
    pub async fn wait(&self, context: &Context, patience: Patience) -> Result<()> {
        poll_fn(|task| {
            let poll = |how| {
                let outcome = context.device.poll(how);
                outcome.map_err(|error| context.lost(error))
            };
            poll(wgpu::PollType::Poll)?;
            if self.outcome().is_none() && patience == Patience::Block {
                context.counts.waits.fetch_add(1, Ordering::Relaxed);
                poll(wgpu::PollType::Wait {
                    submission_index: Some(self.submission.clone()),
                    timeout: None,
                })?;
            }
            let mut word = self.word();
            if let Some(outcome) = &word.outcome {
                return Poll::Ready(outcome.clone().map_err(|error| context.lost(error)));
            }
            word.waker = Some(task.waker().clone());
            // A browser tells by itself; elsewhere, only those hear of it who ask.
            if cfg!(not(target_family = "wasm")) {
                task.waker().wake_by_ref();
            }
            Poll::Pending
        })
        .await
    }

    /// Lets `look` at the bytes, which must be there, and gives the staging buffer back.
    pub fn take<T>(
        self,
        context: &Context,
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<(T, wgpu::Buffer)> {
        let bytes = self.staging.get_mapped_range(..self.length);
        let seen = look(&bytes.map_err(|error| context.lost(error))?);
        self.staging.unmap();
        Ok((seen, self.staging))
    }

    fn outcome(&self) -> Option<Outcome> {
        self.word().outcome.clone()
    }

    fn word(&self) -> MutexGuard<'_, Word> {
        self.word.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Context {
    /// A buffer for the device to write and the host to read.
    pub(super) fn staging(&self, size: u64) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("staging"),
            size,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        })
    }

    /// Submits commands that write the first `length` bytes of `staging`, and sends for those.
    pub(super) fn submit(
        &self,
        encoder: wgpu::CommandEncoder,
        staging: wgpu::Buffer,
        length: u64,
    ) -> Arrival {
        let submission = self.queue.submit([encoder.finish()]);
        let downloaded = &self.counts.downloaded;
        downloaded.fetch_add(length, Ordering::Relaxed);
        let word = Arc::new(Mutex::new(Word::default()));
        let told = Arc::clone(&word);
        staging.map_async(wgpu::MapMode::Read, ..length, move |outcome| {
            let mut word = told.lock().unwrap_or_else(PoisonError::into_inner);
            word.outcome = Some(outcome);
            let waker = word.waker.take();
            drop(word);
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        Arrival {
            staging,
            length,
            submission,
            word,
        }
    }

    /// Copies bytes of a buffer, from `offset` on, to the host.
    pub(crate) fn read(&self, buffer: &wgpu::Buffer, offset: u64, bytes: &mut [u8]) -> Result<()> {
        pollster::block_on(self.read_by(Patience::Block, buffer, offset, bytes))
    }

    /// The same for those who wait as they like.
    pub(crate) async fn read_by(
        &self,
        patience: Patience,
        buffer: &wgpu::Buffer,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<()> {
        /// Larger copies go in pieces: the staging buffer is memory too.
        const PIECE: usize = 64 << 20;
        for (index, piece) in bytes.chunks_mut(PIECE).enumerate() {
            let length = piece.len() as u64;
            let staging = self.staging(length);
            let mut encoder = self.device.create_command_encoder(&Default::default());
            let start = offset + (index * PIECE) as u64;
            encoder.copy_buffer_to_buffer(buffer, start, &staging, 0, length);
            let arrival = self.submit(encoder, staging, length);
            arrival.wait(self, patience).await?;
            arrival.take(self, |bytes| piece.copy_from_slice(bytes))?;
        }
        Ok(())
    }

    /// Copies pieces of buffers, each given by its offset and length, to the host, one behind the other, and waits
    /// once for all of them.
    pub(super) async fn read_pieces(
        &self,
        patience: Patience,
        pieces: &[(&wgpu::Buffer, u64, u64)],
    ) -> Result<Vec<u8>> {
        let length = pieces.iter().map(|(_, _, length)| length).sum();
        let staging = self.staging(length);
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut place = 0;
        for &(buffer, offset, length) in pieces {
            encoder.copy_buffer_to_buffer(buffer, offset, &staging, place, length);
            place += length;
        }
        let arrival = self.submit(encoder, staging, length);
        arrival.wait(self, patience).await?;
        let (bytes, _) = arrival.take(self, <[u8]>::to_vec)?;
        Ok(bytes)
    }

    /// Waits until all that was submitted is done.
    pub(crate) fn wait(&self) -> Result<()> {
        self.counts.waits.fetch_add(1, Ordering::Relaxed);
        let outcome = self.device.poll(wgpu::PollType::wait_indefinitely());
        outcome.map(|_| ()).map_err(|error| self.lost(error))
    }

    /// [`Context::wait`] for those who wait as they like.
    #[cfg(feature = "view")]
    pub(crate) async fn wait_by(&self, patience: Patience) -> Result<()> {
        if patience == Patience::Block {
            return self.wait();
        }
        // What is submitted last is done last.
        let staging = self.staging(4);
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.clear_buffer(&staging, 0, None);
        self.submit(encoder, staging, 4).wait(self, patience).await
    }

    fn lost(&self, reason: impl Display) -> Error {
        Error::Lost {
            adapter: self.adapter.clone(),
            reason: reason.to_string(),
        }
    }
}
