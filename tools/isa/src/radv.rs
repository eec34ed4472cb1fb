//! Mesa's driver for AMD's GPUs, opened without one: what its compiler makes of pipelines.

use std::ffi::{CStr, CString};

use ash::vk;

use crate::pipelines::{Buffers, Checks, Pipeline};

/// Figures of the compiler about a pipeline: names as the driver has them.
pub type Statistics = Vec<(String, u64)>;

/// The driver with a GPU that is not there.
pub struct Driver {
    /// Keeps the library loaded.
    _entry: ash::Entry,
    instance: ash::Instance,
    device: ash::Device,
    executables: ash::khr::pipeline_executable_properties::Device,
    /// Name of the GPU.
    pub gpu: String,
    /// Its driver and the version of that.
    pub version: String,
}

impl Driver {
    /// Opens the driver that the environment names (`VK_DRIVER_FILES`, `RADV_FORCE_FAMILY`) as wgpu does.
    ///
    /// # Errors
    /// With a sentence, if there is none.
    pub fn open(checks: Checks) -> Result<Driver, String> {
        // SAFETY: the structs live as long as the calls that read them, and only what the driver offers is asked of it.
        unsafe {
            let entry = ash::Entry::load()
                .map_err(|error| format!("there is no Vulkan loader (libvulkan.so.1): {error}"))?;
            let failed = |what: &'static str| {
                move |error: vk::Result| format!("the driver fails at {what}: {error}")
            };
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let wanted = vk::InstanceCreateInfo::default().application_info(&application);
            let instance = entry
                .create_instance(&wanted, None)
                .map_err(failed("vkCreateInstance"))?;
            let gpus = instance
                .enumerate_physical_devices()
                .map_err(failed("vkEnumeratePhysicalDevices"))?;
            let [gpu] = gpus.as_slice() else {
                return Err(format!(
                    "the driver offers {} GPUs, and one was expected",
                    gpus.len()
                ));
            };
            let mut driver = vk::PhysicalDeviceDriverProperties::default();
            let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
            instance.get_physical_device_properties2(*gpu, &mut properties);
            let name = text(properties.properties.device_name.as_slice());
            let version = format!(
                "{} {}",
                text(&driver.driver_name),
                text(&driver.driver_info)
            );

            let robust = checks.buffers == Buffers::Driver;
            let queue = [vk::DeviceQueueCreateInfo::default()
                .queue_family_index(0)
                .queue_priorities(&[1.0])];
            let extensions = [
                ash::khr::pipeline_executable_properties::NAME.as_ptr(),
                ash::ext::robustness2::NAME.as_ptr(),
            ];
            let features = vk::PhysicalDeviceFeatures::default().robust_buffer_access(robust);
            let mut robustness =
                vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_buffer_access2(robust);
            let mut zeros = vk::PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures::default()
                .shader_zero_initialize_workgroup_memory(true);
            let mut told = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
                .pipeline_executable_info(true);
            let wanted = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queue)
                .enabled_extension_names(&extensions)
                .enabled_features(&features)
                .push_next(&mut robustness)
                .push_next(&mut zeros)
                .push_next(&mut told);
            let device = instance
                .create_device(*gpu, &wanted, None)
                .map_err(failed("vkCreateDevice"))?;
            let executables =
                ash::khr::pipeline_executable_properties::Device::new(&instance, &device);
            Ok(Driver {
                _entry: entry,
                instance,
                device,
                executables,
                gpu: name,
                version,
            })
        }
    }

    /// Compiles a pipeline, and returns the compiler's figures.
    ///
    /// # Errors
    /// With a sentence, if it refuses it.
    pub fn compile(&self, pipeline: &Pipeline) -> Result<Statistics, String> {
        let failed = |what: &'static str| {
            move |error: vk::Result| {
                format!("{}: the driver fails at {what}: {error}", pipeline.name)
            }
        };
        let name =
            CString::new(pipeline.entry_point.as_str()).map_err(|error| error.to_string())?;
        let device = &self.device;
        // SAFETY: as above; the SPIR-V is naga's, of a module that it has checked.
        unsafe {
            let code = vk::ShaderModuleCreateInfo::default().code(&pipeline.code);
            let module = device
                .create_shader_module(&code, None)
                .map_err(failed("vkCreateShaderModule"))?;
            let bindings: Vec<vk::DescriptorSetLayoutBinding> = pipeline
                .uniforms
                .iter()
                .zip(0..)
                .map(|(&uniform, binding)| {
                    vk::DescriptorSetLayoutBinding::default()
                        .binding(binding)
                        .descriptor_type(match uniform {
                            true => vk::DescriptorType::UNIFORM_BUFFER,
                            false => vk::DescriptorType::STORAGE_BUFFER,
                        })
                        .descriptor_count(1)
                        .stage_flags(vk::ShaderStageFlags::COMPUTE)
                })
                .collect();
            let wanted = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let set = device
                .create_descriptor_set_layout(&wanted, None)
                .map_err(failed("vkCreateDescriptorSetLayout"))?;
            let sets = [set];
            let wanted = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
            let layout = device
                .create_pipeline_layout(&wanted, None)
                .map_err(failed("vkCreatePipelineLayout"))?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(&name);
            let wanted = vk::ComputePipelineCreateInfo::default()
                .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
                .stage(stage)
                .layout(layout);
            let made = device
                .create_compute_pipelines(vk::PipelineCache::null(), &[wanted], None)
                .map_err(|(_, error)| failed("vkCreateComputePipelines")(error))?;
            let own = vk::PipelineInfoKHR::default().pipeline(made[0]);
            let programs = self
                .executables
                .get_pipeline_executable_properties(&own)
                .map_err(failed("vkGetPipelineExecutablePropertiesKHR"))?;
            let own = vk::PipelineExecutableInfoKHR::default().pipeline(made[0]);
            let numbers = self
                .executables
                .get_pipeline_executable_statistics(&own)
                .map_err(failed("vkGetPipelineExecutableStatisticsKHR"))?;
            let threads = programs.first().map_or(0, |program| program.subgroup_size);
            let mut found = vec![("Threads of a wave".to_owned(), threads.into())];
            for number in numbers {
                if number.format == vk::PipelineExecutableStatisticFormatKHR::UINT64 {
                    found.push((text(&number.name), number.value.u64));
                }
            }
            device.destroy_pipeline(made[0], None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_descriptor_set_layout(set, None);
            device.destroy_shader_module(module, None);
            Ok(found)
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // SAFETY: nothing made of them is left.
        unsafe {
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}

/// A text of the driver's, which ends with a zero.
fn text(letters: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = letters.iter().map(|&letter| letter as u8).collect();
    CStr::from_bytes_until_nul(&bytes).map_or_else(
        |_| String::new(),
        |text| text.to_string_lossy().into_owned(),
    )
}
