use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wgpu::{Backend, Backends, DeviceType, DownlevelFlags, Features, Limits};

use super::program::Programs;
use crate::model::error::{Error, Result};

/// Storage buffers that the largest pass binds: WebGPU's default limit.
const STORAGE_BUFFERS: u32 = 8;

/// An open device.
#[derive(Clone)]
pub struct Context {
    /// Name, backend and driver of the adapter, for people.
    pub adapter: String,
    /// The device.
    pub device: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
    /// A feature that the adapter lacks to draw pictures, if any.
    cannot_draw: Option<&'static str>,
    /// Whether the adapter is a program on the CPU.
    pub(super) is_software: bool,
    pub(super) counts: Arc<Counts>,
    /// Compiled for it so far.
    pub(super) programs: Arc<Programs>,
}

/// Traffic between host and device.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Number of times that the host has waited for the device.
    pub waits: AtomicU64,
    /// Bytes from the host to the device.
    pub uploaded: AtomicU64,
    /// Bytes from the device to the host.
    pub downloaded: AtomicU64,
}

impl Context {
    /// Returns the number of times that the host has waited for the device through this context and its clones.
    #[doc(hidden)]
    pub fn waits(&self) -> u64 {
        self.counts.waits.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes that have gone to the device through this context and its clones.
    #[doc(hidden)]
    pub fn uploaded(&self) -> u64 {
        self.counts.uploaded.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes that have come from the device through this context and its clones.
    #[doc(hidden)]
    pub fn downloaded(&self) -> u64 {
        self.counts.downloaded.load(Ordering::Relaxed)
    }

    /// Number of entry points that are compiled for this device.
    #[doc(hidden)]
    pub fn compiled(&self) -> usize {
        self.programs.count()
    }

    /// Writes bytes to a buffer, from `offset` on.
    pub(super) fn write(&self, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) {
        let counts = &self.counts;
        counts
            .uploaded
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.queue.write_buffer(buffer, offset, bytes);
    }

    /// This device, taken for a GPU or for a program on the CPU: tests have one adapter go the ways of both.
    #[doc(hidden)]
    pub fn taken_for_software(self, is_software: bool) -> Context {
        Context {
            is_software,
            ..self
        }
    }

    /// This device, with all counters at 0.
    pub(super) fn counted(&self) -> Context {
        Context {
            counts: Arc::default(),
            ..self.clone()
        }
    }

    /// A device of another program's, such as a game engine's, for simulations to run on; it was opened
    /// on `adapter` with at least what [`Context::needs`] asks for.
    ///
    /// Simulations submit to `queue`, from the thread that steps them, and wait for the device.
    ///
    /// # Errors
    /// If the device has less than simulations need.
    pub fn of(
        adapter: &wgpu::Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
    ) -> Result<Context> {
        let adapter = Adapter {
            info: adapter.get_info(),
            adapter: adapter.clone(),
        };
        let buffers = device.limits().max_storage_buffers_per_shader_stage;
        if buffers < STORAGE_BUFFERS {
            return Err(Error::Device {
                adapter: adapter.describe(),
                reason: format!(
                    "it was opened with {buffers} storage buffers a shader, and {STORAGE_BUFFERS} are \
                     needed (`Context::needs` asks for them)"
                ),
            });
        }
        Ok(Context {
            adapter: adapter.describe(),
            device,
            queue,
            cannot_draw: adapter.cannot_draw(),
            is_software: adapter.is_software(),
            counts: Arc::default(),
            programs: Arc::default(),
        })
    }

    /// Limits and features that simulations ask of a device on `adapter`: WebGPU's default limits, buffers as large as the
    /// adapter allows, and timestamps if there are any.
    pub fn needs(adapter: &wgpu::Adapter) -> wgpu::DeviceDescriptor<'static> {
        let limits = adapter.limits();
        wgpu::DeviceDescriptor {
            label: Some("rockfall"),
            required_features: adapter.features() & Features::TIMESTAMP_QUERY,
            required_limits: Limits {
                max_buffer_size: limits.max_buffer_size,
                max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
                ..Limits::default().or_worse_values_from(&limits)
            },
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..Default::default()
        }
    }

    /// # Errors
    /// If the adapter cannot draw pictures.
    pub fn can_draw(&self) -> Result<()> {
        match self.cannot_draw {
            None => Ok(()),
            Some(lacks) => Err(Error::CannotDraw {
                adapter: self.adapter.clone(),
                lacks,
            }),
        }
    }
}

/// An adapter that wgpu sees.
pub struct Adapter {
    adapter: wgpu::Adapter,
    info: wgpu::AdapterInfo,
}

impl Adapter {
    /// All adapters, those that `auto` would prefer first.
    pub fn all() -> Vec<Adapter> {
        pollster::block_on(Adapter::of(Backends::all()))
    }

    async fn of(backends: Backends) -> Vec<Adapter> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends,
            // Errors of validation cost time in each call, and our tests catch them.
            flags: wgpu::InstanceFlags::from_build_config()
                // Each statement's place in the text, for debuggers: a third of the time that compiling takes.
                .difference(wgpu::InstanceFlags::DEBUG)
                .with_env(),
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        Adapter::seen_by(&instance, backends).await
    }

    /// The adapters of an instance, those that `auto` would prefer first.
    async fn seen_by(instance: &wgpu::Instance, backends: Backends) -> Vec<Adapter> {
        let adapters = instance.enumerate_adapters(backends).await;
        let mut adapters: Vec<Adapter> = adapters
            .into_iter()
            .map(|adapter| Adapter {
                info: adapter.get_info(),
                adapter,
            })
            .collect();
        adapters.sort_by_key(|adapter| (adapter.kind_rank(), adapter.backend_rank()));
        adapters
    }

    /// The adapter that `wanted` names, or the best real GPU.
    ///
    /// # Errors
    /// With a sentence on what there is, if none fits. A software adapter is taken only by name.
    pub fn choose(wanted: Option<&str>) -> Result<Adapter> {
        pollster::block_on(Adapter::choose_async(wanted))
    }

    /// [`Adapter::choose`] for those who cannot block, as in a browser.
    ///
    /// # Errors
    /// As [`Adapter::choose`].
    pub async fn choose_async(wanted: Option<&str>) -> Result<Adapter> {
        Adapter::choose_for(wanted, 0).await
    }

    /// [`Adapter::choose_async`] for one of several processes on a machine, which take the adapters that fit in turn.
    ///
    /// # Errors
    /// As [`Adapter::choose`].
    pub(in crate::step) async fn choose_for(wanted: Option<&str>, place: usize) -> Result<Adapter> {
        let suits = |adapter: &Adapter| match wanted {
            Some(text) => adapter.matches(text) && adapter.lacks().is_empty(),
            None => adapter.suits_auto(),
        };
        let mut adapters = Vec::new();
        // OpenGL last, and only if need be: it takes time to start, and offers the same GPUs.
        for backends in [Backends::PRIMARY, Backends::SECONDARY] {
            let mut more = Adapter::of(backends).await;
            if let Some(first) = more.iter().position(suits) {
                // Others may be the same GPUs under another name.
                let backend = more[first].info.backend;
                more.retain(|adapter| suits(adapter) && adapter.info.backend == backend);
                return Ok(more.swap_remove(place % more.len()));
            }
            adapters.append(&mut more);
        }
        let seen: Vec<String> = adapters
            .iter()
            .map(|adapter| match adapter.lacks().as_slice() {
                [] => adapter.describe(),
                lacks => format!(
                    "{}, which lacks {}",
                    adapter.describe(),
                    lacks.join(" and ")
                ),
            })
            .collect();
        let seen = if seen.is_empty() {
            "none".to_owned()
        } else {
            seen.join("; ")
        };
        Err(Error::NoAdapter(match wanted {
            Some(text) => format!("no usable adapter matches \"{text}\"; wgpu sees: {seen}"),
            None => format!(
                "no GPU was found; wgpu sees: {seen}; install the GPU's Vulkan driver, or \
                 name a software adapter"
            ),
        }))
    }

    /// The adapter to draw on what another engine computes: the one that `wanted` names, the best real
    /// GPU, or else a software one.
    ///
    /// # Errors
    /// As [`Adapter::choose`].
    pub fn to_draw(wanted: Option<&str>) -> Result<Adapter> {
        match wanted {
            Some(_) => Adapter::choose(wanted),
            None => Adapter::choose(None).or_else(|_| Adapter::choose(Some("software"))),
        }
    }

    /// The adapter that shows pictures on a surface: the one that `wanted` names, the best real GPU, or
    /// else a software one.
    ///
    /// # Errors
    /// With a sentence on what there is, if none fits.
    #[cfg(feature = "view")]
    pub(crate) async fn for_surface(
        instance: &wgpu::Instance,
        surface: &wgpu::Surface<'_>,
        wanted: Option<&str>,
    ) -> Result<Adapter> {
        let adapters = Adapter::seen_by(instance, Backends::all()).await;
        let seen: Vec<String> = adapters.iter().map(Adapter::describe).collect();
        let suits = |adapter: &Adapter| {
            adapter.lacks().is_empty()
                && adapter.adapter.is_surface_supported(surface)
                && wanted.is_none_or(|text| adapter.matches(text))
        };
        adapters.into_iter().find(suits).ok_or_else(|| {
            let which = wanted.map_or(String::new(), |text| format!(" and matches \"{text}\""));
            Error::NoAdapter(format!(
                "no adapter that can show pictures in a window{which} was found; wgpu sees: {}",
                if seen.is_empty() {
                    "none".to_owned()
                } else {
                    seen.join("; ")
                }
            ))
        })
    }

    /// Capabilities of the adapter with a surface.
    #[cfg(feature = "view")]
    pub(crate) fn surface_capabilities(
        &self,
        surface: &wgpu::Surface,
    ) -> wgpu::SurfaceCapabilities {
        surface.get_capabilities(&self.adapter)
    }

    /// Name, kind, backend and driver, for people.
    pub fn describe(&self) -> String {
        let wgpu::AdapterInfo {
            name,
            driver,
            driver_info,
            ..
        } = &self.info;
        // Browsers tell no names.
        let name = if name.is_empty() { "GPU" } else { name };
        let driver = format!("{driver} {driver_info}");
        let driver = match driver.trim() {
            "" => String::new(),
            driver => format!(", {driver}"),
        };
        format!("{name} ({}, {}{driver})", self.kind(), self.info.backend)
    }

    /// Whether the adapter is a program on the CPU.
    pub fn is_software(&self) -> bool {
        self.info.device_type == DeviceType::Cpu
    }

    /// Whether it may be chosen without being named: a real GPU that lacks nothing.
    pub fn suits_auto(&self) -> bool {
        !self.is_software() && self.lacks().is_empty()
    }

    /// Whether the device can time passes.
    pub fn has_timestamps(&self) -> bool {
        self.adapter.features().contains(Features::TIMESTAMP_QUERY)
    }

    /// Largest buffer that a shader can use, bytes.
    pub fn largest_buffer(&self) -> u64 {
        let limits = self.adapter.limits();
        limits
            .max_storage_buffer_binding_size
            .min(limits.max_buffer_size)
    }

    /// Needs of Rockfall that the adapter does not meet; empty if it can be used.
    pub fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        let capabilities = self.adapter.get_downlevel_capabilities();
        if !capabilities.flags.contains(DownlevelFlags::COMPUTE_SHADERS) {
            lacks.push("compute shaders".to_owned());
        }
        let limits = self.adapter.limits();
        let buffers = limits.max_storage_buffers_per_shader_stage;
        if buffers < STORAGE_BUFFERS {
            lacks.push(format!(
                "storage buffers ({buffers} of {STORAGE_BUFFERS} a shader)"
            ));
        }
        lacks
    }

    /// A feature that it lacks to draw pictures, if any.
    fn cannot_draw(&self) -> Option<&'static str> {
        let flags = self.adapter.get_downlevel_capabilities().flags;
        let needed = [
            (
                DownlevelFlags::VERTEX_STORAGE,
                "storage buffers in vertex shaders",
            ),
            (
                DownlevelFlags::FRAGMENT_STORAGE,
                "storage buffers in fragment shaders",
            ),
            (DownlevelFlags::COMPARISON_SAMPLERS, "samplers that compare"),
        ];
        let missing = needed.into_iter().find(|(flag, _)| !flags.contains(*flag));
        missing.map(|(_, lacks)| lacks)
    }

    /// Opens the adapter with all that it can do.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn open(&self) -> Result<Context> {
        pollster::block_on(self.open_async())
    }

    /// [`Adapter::open`] for those who cannot block, as in a browser.
    ///
    /// # Errors
    /// If the driver refuses.
    pub async fn open_async(&self) -> Result<Context> {
        self.open_with(&Context::needs(&self.adapter)).await
    }

    /// Opens the adapter with no more than the limits that WebGPU promises everywhere: a buffer has at most 128 MiB.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn open_least(&self) -> Result<Context> {
        let least = wgpu::DeviceDescriptor {
            required_limits: Limits::default(),
            ..Context::needs(&self.adapter)
        };
        pollster::block_on(self.open_with(&least))
    }

    async fn open_with(&self, needs: &wgpu::DeviceDescriptor<'_>) -> Result<Context> {
        let opened = self.adapter.request_device(needs).await;
        let (device, queue) = opened.map_err(|error| Error::Device {
            adapter: self.describe(),
            reason: error.to_string(),
        })?;
        Ok(Context {
            adapter: self.describe(),
            device,
            queue,
            cannot_draw: self.cannot_draw(),
            is_software: self.is_software(),
            counts: Arc::default(),
            programs: Arc::default(),
        })
    }

    fn matches(&self, text: &str) -> bool {
        self.describe()
            .to_lowercase()
            .contains(&text.to_lowercase())
    }

    fn kind(&self) -> &'static str {
        match self.info.device_type {
            DeviceType::DiscreteGpu => "discrete GPU",
            DeviceType::IntegratedGpu => "integrated GPU",
            DeviceType::VirtualGpu => "virtual GPU",
            DeviceType::Cpu => "software",
            DeviceType::Other => "other",
        }
    }

    fn kind_rank(&self) -> u8 {
        match self.info.device_type {
            DeviceType::DiscreteGpu => 0,
            DeviceType::IntegratedGpu => 1,
            DeviceType::VirtualGpu => 2,
            DeviceType::Other => 3,
            DeviceType::Cpu => 4,
        }
    }

    fn backend_rank(&self) -> u8 {
        match self.info.backend {
            Backend::Vulkan | Backend::Metal => 0,
            Backend::Dx12 => 1,
            _ => 2,
        }
    }
}
