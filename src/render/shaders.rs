//! The shaders of pictures, in WGSL.

use std::io;

use super::view::View;
use crate::math::wgsl::include_wgsl;
use crate::render::colour::{self, BIN_SHIFT, BINS, COLOURS, ColourBy, LIST_COLOURS, MAP_COLOURS};
use crate::step::gpu::shaders::{assemble, shared};

/// The files of `shaders/render/`: complete shaders, and the parts that they import.
const FILES: [(&str, &str); 19] = [
    ("survey", include_wgsl!("../../shaders/render/survey.wgsl")),
    ("planes", include_wgsl!("../../shaders/render/planes.wgsl")),
    ("shadow", include_wgsl!("../../shaders/render/shadow.wgsl")),
    (
        "visible",
        include_wgsl!("../../shaders/render/visible.wgsl"),
    ),
    ("hidden", include_wgsl!("../../shaders/render/hidden.wgsl")),
    (
        "occlusion",
        include_wgsl!("../../shaders/render/occlusion.wgsl"),
    ),
    ("shade", include_wgsl!("../../shaders/render/shade.wgsl")),
    ("lines", include_wgsl!("../../shaders/render/lines.wgsl")),
    (
        "springs",
        include_wgsl!("../../shaders/render/springs.wgsl"),
    ),
    ("glass", include_wgsl!("../../shaders/render/glass.wgsl")),
    ("water", include_wgsl!("../../shaders/render/water.wgsl")),
    ("line", include_wgsl!("../../shaders/render/line.wgsl")),
    (
        "resolve",
        include_wgsl!("../../shaders/render/resolve.wgsl"),
    ),
    ("layer", include_wgsl!("../../shaders/render/layer.wgsl")),
    ("view", include_wgsl!("../../shaders/render/view.wgsl")),
    ("ball", include_wgsl!("../../shaders/render/ball.wgsl")),
    ("wall", include_wgsl!("../../shaders/render/wall.wgsl")),
    (
        "surface",
        include_wgsl!("../../shaders/render/surface.wgsl"),
    ),
    (
        "quantity",
        include_wgsl!("../../shaders/render/quantity.wgsl"),
    ),
];

/// Names of the shaders of a picture, in the order in which they run.
pub const NAMES: [&str; 13] = [
    "survey",
    "planes",
    "shadow",
    "visible",
    "hidden",
    "occlusion",
    "shade",
    "springs",
    "glass",
    "water",
    "lines",
    "resolve",
    "layer",
];

/// Number of straight pieces in the drawing of a spring.
pub(crate) const SPRING_PIECES: u32 = 18;

/// Side of the tiles in which the shader `hidden` compares depths, samples.
pub(super) const TILE: u32 = 2;

/// Number of slices of the box around the bodies, along each axis, in which a survey counts them.
pub(super) const SURVEY_SLICES: usize = 256;

/// Source of the texts of the shaders.
#[derive(Clone, Debug, Default)]
pub enum Texts {
    /// The texts that the program was built with.
    #[default]
    BuiltIn,
    /// Texts read while the program runs: the names of files of `shaders/render/` without their ending, and their texts.
    Read(Vec<(String, String)>),
}

impl Texts {
    /// Reads the texts from the directory `shaders/render/` of a checkout.
    ///
    /// # Errors
    /// If a file cannot be read, or the first line of a shader imports something that does not exist.
    pub fn read(directory: &std::path::Path) -> io::Result<Texts> {
        let read = |(name, _): &(&str, &str)| {
            let text = std::fs::read_to_string(directory.join(format!("{name}.wgsl")))?;
            if NAMES.contains(name) {
                check_imports(name, &text).map_err(io::Error::other)?;
            }
            Ok(((*name).to_owned(), text))
        };
        FILES
            .iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Texts::Read)
    }

    fn text(&self, name: &str) -> &str {
        let text = match self {
            Texts::BuiltIn => {
                let found = FILES.iter().find(|(file, _)| *file == name);
                found.map(|(_, text)| *text)
            }
            Texts::Read(files) => {
                let found = files.iter().find(|(file, _)| file == name);
                found.map(|(_, text)| text.as_str())
            }
        };
        text.unwrap_or_else(|| panic!("shaders/render/{name}.wgsl does not exist"))
    }

    /// The complete WGSL of a shader, whose name is one of [`NAMES`].
    ///
    /// # Panics
    /// If there is no such shader, or it does not start with `// import: ` and names.
    pub fn source(&self, name: &str) -> String {
        let own = assemble(name, self.text(name), |import| {
            match import.strip_prefix("render/") {
                Some(own) => self.text(own),
                None => shared(import)
                    .unwrap_or_else(|| panic!("shaders/shared/{import}.wgsl does not exist")),
            }
        });
        constants() + &View::LAYOUT.wgsl() + &own
    }
}

/// Checks that everything that a shader's first line imports exists.
///
/// # Errors
/// A sentence with the file, what was found and what was expected.
fn check_imports(name: &str, text: &str) -> Result<(), String> {
    let first = text.lines().next().unwrap_or_default();
    let wrong = |found: &str, expected: &str| {
        format!("shaders/render/{name}.wgsl:1: found {found}, expected {expected}")
    };
    let imports = first.strip_prefix("// import: ").ok_or_else(|| {
        wrong(
            &format!("{first:?}"),
            "\"// import: \" and the names of what it imports",
        )
    })?;
    let exists = |import: &&str| match import.strip_prefix("render/") {
        Some(own) => FILES.iter().any(|(file, _)| *file == own),
        None => shared(import).is_some(),
    };
    match imports.split(", ").find(|import| !exists(import)) {
        Some(import) => Err(wrong(
            &format!("an import of {import:?}"),
            "the name of a file of shaders/shared/ or, after \"render/\", of shaders/render/",
        )),
        None => Ok(()),
    }
}

/// The constants of pictures that shaders share with the host.
fn constants() -> String {
    let meanings = ColourBy::ALL.map(|by| (colour::constant(by), by as u32));
    let sizes = [
        ("MAP_COLOURS", MAP_COLOURS as u32),
        ("LIST_COLOURS", LIST_COLOURS as u32),
        ("COLOURS", COLOURS as u32),
        ("SPRING_PIECES", SPRING_PIECES),
        ("BINS", BINS as u32),
        ("BIN_SHIFT", BIN_SHIFT),
        ("SURVEY_SLICES", SURVEY_SLICES as u32),
        ("TILE", TILE),
    ];
    meanings
        .into_iter()
        .chain(sizes)
        .map(|(name, value)| format!("const {name}: u32 = {value}u;\n"))
        .collect()
}
