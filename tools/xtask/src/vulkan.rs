//! A Vulkan adapter for the GPU tests: a real GPU's, or Mesa's software one.
//!
//! The tests decide what they run on (`tests/common/mod.rs`); this makes sure that there is
//! something to find. It looks for files and asks no driver, because it runs before anything that
//! could ask one is built.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::apt::{self, Privilege, output};

/// Debian's and Ubuntu's names of the software driver and of the Vulkan loader.
const PACKAGES: [&str; 2] = ["mesa-vulkan-drivers", "libvulkan1"];

/// Variables that stand in for the loader's own search for drivers; the first that is set counts.
const OVERRIDES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// Facts about a Linux system.
#[derive(Clone, Debug, Default)]
struct Facts {
    /// Whether the Vulkan loader, `libvulkan.so.1`, is there.
    loader: bool,
    /// The drivers' manifests that the loader reads.
    manifests: Vec<PathBuf>,
    /// The variable, if one is set, that says which manifests these are.
    chosen_by: Option<&'static str>,
    /// Whether the kernel shows a GPU.
    gpu: bool,
    /// Whether there is `apt-get`.
    apt: bool,
    /// Right to install packages.
    privilege: Privilege,
}

#[derive(Debug, PartialEq)]
enum Plan {
    /// There is a driver; its manifest.
    Ready(PathBuf),
    /// Install [`PACKAGES`], with or without `sudo`.
    Install { sudo: bool },
    /// The user has to do it; a sentence that says what.
    Ask(String),
}

/// Makes sure that there is an adapter, and installs one if need be.
///
/// # Errors
/// With a sentence that says what to install, if that is not possible.
pub fn provide() -> Result<(), String> {
    if cfg!(any(target_os = "macos", target_os = "windows")) {
        eprintln!("           the system has its own GPU interface");
        return Ok(());
    }
    let sudo = match plan(&Facts::gather()) {
        Plan::Ready(manifest) => return report(&manifest),
        Plan::Ask(sentence) => return Err(sentence),
        Plan::Install { sudo } => sudo,
    };
    let installed = apt::install(sudo, &PACKAGES);
    match plan(&Facts::gather()) {
        Plan::Ready(manifest) if installed => report(&manifest),
        _ => Err(format!(
            "`apt-get install {}` did not bring a Vulkan driver for the GPU tests; the reason is \
             above",
            PACKAGES.join(" ")
        )),
    }
}

fn report(manifest: &Path) -> Result<(), String> {
    eprintln!("           {}", manifest.display());
    Ok(())
}

fn plan(facts: &Facts) -> Plan {
    let software = facts.manifests.iter().find(|path| is_software(path));
    let hardware = facts.manifests.iter().find(|path| !is_software(path));
    // Mesa's package brings the drivers of GPUs that the machine may not have.
    let driver = software.or(hardware.filter(|_| facts.gpu));
    if facts.loader
        && let Some(driver) = driver
    {
        return Plan::Ready(driver.clone());
    }
    if let Some(variable) = facts.chosen_by
        && driver.is_none()
    {
        return Plan::Ask(format!(
            "{variable} is set and names no Vulkan driver that this machine can use; unset it, or \
             have it name the manifest of one (such as /usr/share/vulkan/icd.d/lvp_icd.x86_64.json)"
        ));
    }
    let missing = match (facts.loader, driver) {
        (false, Some(_)) => "the Vulkan loader libvulkan.so.1",
        _ => "a Vulkan driver, and this machine has neither a GPU's nor a software one",
    };
    match (facts.apt, facts.privilege) {
        (true, Privilege::Root) => Plan::Install { sudo: false },
        (true, Privilege::Sudo) => Plan::Install { sudo: true },
        (true, Privilege::None) => Plan::Ask(format!(
            "the GPU tests need {missing}; run `sudo apt-get install {}` and try again",
            PACKAGES.join(" ")
        )),
        (false, _) => Plan::Ask(format!(
            "the GPU tests need {missing}; install Mesa's software driver and the loader and try \
             again (Fedora: mesa-vulkan-drivers vulkan-loader; Arch: vulkan-swrast \
             vulkan-icd-loader; Alpine: mesa-vulkan-swrast vulkan-loader)"
        )),
    }
}

/// Whether a manifest is that of a driver that runs on the CPU.
fn is_software(manifest: &Path) -> bool {
    let name = manifest
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    name.contains("lvp") || name.contains("swiftshader")
}

impl Facts {
    fn gather() -> Facts {
        let (manifests, chosen_by) = manifests(|name| std::env::var_os(name));
        Facts {
            loader: has_loader(),
            manifests,
            chosen_by,
            gpu: has_gpu(),
            apt: apt::exists(),
            privilege: Privilege::gather(),
        }
    }
}

/// The manifests that the loader reads, and the variable that chose them, if any did; as in the
/// loader's LoaderDriverInterface.md.
fn manifests(variable: impl Fn(&str) -> Option<OsString>) -> (Vec<PathBuf>, Option<&'static str>) {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let chosen = OVERRIDES
        .into_iter()
        .find_map(|name| set(name).map(|value| (name, value)));
    let (places, chosen_by) = match chosen {
        Some((name, value)) => (paths(&value), Some(name)),
        None => {
            let search = [
                ("XDG_CONFIG_DIRS", "/etc/xdg"),
                ("SYSCONFDIR", "/etc"),
                ("XDG_DATA_HOME", ""),
                ("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
            ];
            let directories = search
                .into_iter()
                .flat_map(|(name, usual)| paths(&set(name).unwrap_or_else(|| usual.into())))
                .map(|directory| directory.join("vulkan/icd.d"));
            (directories.collect(), None)
        }
    };
    let mut found = Vec::new();
    for place in places {
        if place.is_file() {
            found.push(place);
        } else if let Ok(entries) = place.read_dir() {
            let mut inside: Vec<PathBuf> = entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.extension() == Some(OsStr::new("json")))
                .collect();
            inside.sort();
            found.extend(inside);
        }
    }
    (found, chosen_by)
}

fn paths(list: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(list)
        .filter(|path| !path.as_os_str().is_empty())
        .collect()
}

fn has_loader() -> bool {
    const LOADER: &str = "libvulkan.so.1";
    // Not on every user's PATH.
    let cached = ["ldconfig", "/sbin/ldconfig"]
        .into_iter()
        .find_map(|program| output(program, &["-p"]));
    let own = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    // Where there is no cache: musl.
    let usual = ["/usr/local/lib", "/usr/lib", "/lib"].map(PathBuf::from);
    cached.is_some_and(|list| list.contains(LOADER))
        || paths(&own)
            .into_iter()
            .chain(usual)
            .any(|directory| directory.join(LOADER).exists())
}

/// Whether the kernel shows a GPU: a render node, NVIDIA's own, or that of Windows' Linux.
fn has_gpu() -> bool {
    let render_node = Path::new("/dev/dri").read_dir().is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("renderD"))
    });
    render_node
        || ["/dev/nvidia0", "/dev/dxg"]
            .iter()
            .any(|node| Path::new(node).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAVAPIPE: &str = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
    const RADEON: &str = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";

    fn bare() -> Facts {
        Facts {
            apt: true,
            privilege: Privilege::Root,
            ..Facts::default()
        }
    }

    fn with(loader: bool, manifests: &[&str]) -> Facts {
        Facts {
            loader,
            manifests: manifests.iter().map(PathBuf::from).collect(),
            ..bare()
        }
    }

    #[track_caller]
    fn asked(facts: Facts) -> String {
        match plan(&facts) {
            Plan::Ask(sentence) => sentence,
            other => panic!("{facts:?}: {other:?}"),
        }
    }

    #[test]
    fn a_bare_debian_gets_the_packages() {
        assert_eq!(plan(&bare()), Plan::Install { sudo: false });
        let user = Facts {
            privilege: Privilege::Sudo,
            ..bare()
        };
        assert_eq!(plan(&user), Plan::Install { sudo: true });
    }

    #[test]
    fn without_privilege_the_user_is_told_the_command() {
        let sentence = asked(Facts {
            privilege: Privilege::None,
            ..bare()
        });
        let command = "`sudo apt-get install mesa-vulkan-drivers libvulkan1`";
        assert!(sentence.contains(command), "{sentence}");
    }

    #[test]
    fn without_apt_the_user_is_told_the_packages_of_others() {
        for privilege in [Privilege::Root, Privilege::Sudo, Privilege::None] {
            let sentence = asked(Facts {
                apt: false,
                privilege,
                ..bare()
            });
            assert!(
                sentence.contains("Fedora: mesa-vulkan-drivers"),
                "{sentence}"
            );
            assert!(!sentence.contains("apt-get"), "{sentence}");
        }
    }

    #[test]
    fn a_software_driver_is_enough() {
        let facts = with(true, &[RADEON, LAVAPIPE]);
        assert_eq!(plan(&facts), Plan::Ready(LAVAPIPE.into()));
    }

    #[test]
    fn a_gpus_driver_counts_only_with_a_gpu() {
        let facts = with(true, &[RADEON]);
        assert_eq!(plan(&facts), Plan::Install { sudo: false });
        let with_gpu = Facts { gpu: true, ..facts };
        assert_eq!(plan(&with_gpu), Plan::Ready(RADEON.into()));
    }

    #[test]
    fn a_driver_without_the_loader_is_not_enough() {
        let facts = with(false, &[LAVAPIPE]);
        assert_eq!(plan(&facts), Plan::Install { sudo: false });
        let sentence = asked(Facts {
            privilege: Privilege::None,
            ..facts
        });
        assert!(sentence.contains("libvulkan.so.1"), "{sentence}");
    }

    #[test]
    fn a_variable_that_names_no_driver_is_blamed_before_anything_is_installed() {
        let sentence = asked(Facts {
            loader: true,
            chosen_by: Some("VK_DRIVER_FILES"),
            ..bare()
        });
        assert!(sentence.starts_with("VK_DRIVER_FILES is set"), "{sentence}");
    }

    #[test]
    fn the_loaders_variables_replace_its_search() {
        let directory = std::env::temp_dir().join(format!("xtask-{}", std::process::id()));
        let drivers = directory.join("share/vulkan/icd.d");
        std::fs::create_dir_all(&drivers).unwrap();
        let (ours, theirs) = (drivers.join("lvp_icd.json"), directory.join("other.json"));
        for file in [&ours, &theirs, &drivers.join("README.txt")] {
            std::fs::write(file, "{}").unwrap();
        }
        let nowhere = || OsString::from("/nonexistent");
        let searched = manifests(|name| match name {
            "XDG_DATA_HOME" => Some(directory.join("share").into()),
            _ => Some(nowhere()).filter(|_| !name.starts_with("VK_")),
        });
        let by_file = manifests(|name| match name {
            "VK_ICD_FILENAMES" => Some(theirs.clone().into()),
            _ => None,
        });
        let by_directory = manifests(|name| match name {
            "VK_DRIVER_FILES" => Some(drivers.clone().into()),
            "VK_ICD_FILENAMES" => Some(theirs.clone().into()),
            _ => None,
        });
        let missing = manifests(|name| (name == "VK_DRIVER_FILES").then(nowhere));
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(searched, (vec![ours.clone()], None));
        assert_eq!(by_file, (vec![theirs], Some("VK_ICD_FILENAMES")));
        assert_eq!(by_directory, (vec![ours], Some("VK_DRIVER_FILES")));
        assert_eq!(missing, (vec![], Some("VK_DRIVER_FILES")));
    }
}
