//! The WGSL of each pass, put together from its file and what that imports.

use crate::grid::{HASH_LEVEL, HASH_Y, HASH_Z};
use crate::layout::{
    HERTZ, HOOKE, LINEAR, PLANE, ROLLING_SPRING, SCAN_BLOCK, SEMI_IMPLICIT, WORKGROUP_SIZE,
};
use crate::pass::Pass;

/// The file of a pass, as it stands in `shaders/`.
fn file(pass: Pass) -> &'static str {
    match pass {
        Pass::Neighbours => include_str!("../../shaders/neighbours.wgsl"),
        Pass::Pose => include_str!("../../shaders/pose.wgsl"),
        Pass::Bin => include_str!("../../shaders/bin.wgsl"),
        Pass::Scan => include_str!("../../shaders/scan.wgsl"),
        Pass::Scatter => include_str!("../../shaders/scatter.wgsl"),
        Pass::Contacts => include_str!("../../shaders/contacts.wgsl"),
        Pass::Integrate => include_str!("../../shaders/integrate.wgsl"),
    }
}

const SHARED: [(&str, &str); 6] = [
    ("layout", include_str!("../../shaders/shared/layout.wgsl")),
    (
        "dispatch",
        include_str!("../../shaders/shared/dispatch.wgsl"),
    ),
    ("grid", include_str!("../../shaders/shared/grid.wgsl")),
    (
        "rotation",
        include_str!("../../shaders/shared/rotation.wgsl"),
    ),
    ("contact", include_str!("../../shaders/shared/contact.wgsl")),
    ("law", include_str!("../../shaders/shared/law.wgsl")),
];

/// The complete WGSL of a pass: the constants, the files that its first line imports, its own.
///
/// # Panics
/// If the file does not start with `// import:` and names of `shaders/shared/`.
pub fn source(pass: Pass) -> String {
    let file = file(pass);
    let imports = file
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("// import: "))
        .unwrap_or_else(|| panic!("shaders/{}.wgsl must start with an import", pass.name()));
    let mut source = constants();
    for import in imports.split(", ") {
        let (_, text) = SHARED
            .iter()
            .find(|(name, _)| *name == import)
            .unwrap_or_else(|| panic!("shaders/shared/{import}.wgsl does not exist"));
        source.push_str(text);
    }
    source + file
}

/// The constants that the shaders share with the host, from where the host has them.
fn constants() -> String {
    [
        ("WORKGROUP_SIZE", WORKGROUP_SIZE),
        ("SCAN_BLOCK", SCAN_BLOCK),
        ("HASH_Y", HASH_Y),
        ("HASH_Z", HASH_Z),
        ("HASH_LEVEL", HASH_LEVEL),
        ("SEMI_IMPLICIT", SEMI_IMPLICIT),
        ("PLANE", PLANE),
        ("LINEAR", LINEAR),
        ("HOOKE", HOOKE),
        ("HERTZ", HERTZ),
        ("ROLLING_SPRING", ROLLING_SPRING),
    ]
    .iter()
    .map(|(name, value)| format!("const {name}: u32 = {value}u;\n"))
    .collect::<String>()
        + &format!("const PI: f32 = {}f;\n", std::f32::consts::PI)
}
