//! The WGSL of each pass, put together from its file and what that imports.

use crate::math::grid;
use crate::math::wgsl::include_wgsl;
use crate::model::wall::facet;
use crate::state::layout::{self, SphereSource};
use crate::step::Pass;
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// A file of shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shader {
    /// File of a pass.
    Pass(Pass),
    /// Takes bodies away between two steps.
    Remove,
    /// Copies bodies at the borders of a part.
    Exchange,
}

impl Shader {
    /// All files.
    pub fn all() -> impl Iterator<Item = Shader> {
        let passes = Pass::ALL.into_iter().map(Shader::Pass);
        passes.chain([Shader::Remove, Shader::Exchange])
    }

    /// Its name, with which those of its entry points start.
    pub fn name(self) -> &'static str {
        match self {
            Shader::Pass(pass) => pass.name(),
            Shader::Remove => "remove",
            Shader::Exchange => "exchange",
        }
    }
}

/// A file, as it stands in `shaders/`.
fn file(shader: Shader) -> &'static str {
    match shader {
        Shader::Pass(pass) => file_of(pass),
        Shader::Remove => include_wgsl!("../../../shaders/remove.wgsl"),
        Shader::Exchange => include_wgsl!("../../../shaders/exchange.wgsl"),
    }
}

fn file_of(pass: Pass) -> &'static str {
    match pass {
        Pass::Neighbours => include_wgsl!("../../../shaders/neighbours.wgsl"),
        Pass::Pose => include_wgsl!("../../../shaders/pose.wgsl"),
        Pass::Bin => include_wgsl!("../../../shaders/bin.wgsl"),
        Pass::Scan => include_wgsl!("../../../shaders/scan.wgsl"),
        Pass::Scatter => include_wgsl!("../../../shaders/scatter.wgsl"),
        Pass::Contacts => include_wgsl!("../../../shaders/contacts.wgsl"),
        Pass::Walls => include_wgsl!("../../../shaders/walls.wgsl"),
        Pass::Forces => include_wgsl!("../../../shaders/forces.wgsl"),
        Pass::Bonds => include_wgsl!("../../../shaders/bonds.wgsl"),
        Pass::Heat => include_wgsl!("../../../shaders/heat.wgsl"),
        Pass::Integrate => include_wgsl!("../../../shaders/integrate.wgsl"),
    }
}

const SHARED: [(&str, &str); 20] = [
    ("tags", include_wgsl!("../../../shaders/shared/tags.wgsl")),
    (
        "ghosts",
        include_wgsl!("../../../shaders/shared/ghosts.wgsl"),
    ),
    (
        "dispatch",
        include_wgsl!("../../../shaders/shared/dispatch.wgsl"),
    ),
    ("grid", include_wgsl!("../../../shaders/shared/grid.wgsl")),
    (
        "rotation",
        include_wgsl!("../../../shaders/shared/rotation.wgsl"),
    ),
    (
        "opaque",
        include_wgsl!("../../../shaders/shared/opaque.wgsl"),
    ),
    (
        "rounding",
        include_wgsl!("../../../shaders/shared/rounding.wgsl"),
    ),
    ("pull", include_wgsl!("../../../shaders/shared/pull.wgsl")),
    (
        "contact",
        include_wgsl!("../../../shaders/shared/contact.wgsl"),
    ),
    ("law", include_wgsl!("../../../shaders/shared/law.wgsl")),
    (
        "shares",
        include_wgsl!("../../../shaders/shared/shares.wgsl"),
    ),
    ("posed", include_wgsl!("../../../shaders/shared/posed.wgsl")),
    (
        SPHERES,
        include_wgsl!("../../../shaders/shared/spheres.wgsl"),
    ),
    (BALLS, include_wgsl!("../../../shaders/shared/balls.wgsl")),
    (CLUMPS, include_wgsl!("../../../shaders/shared/clumps.wgsl")),
    ("sum", include_wgsl!("../../../shaders/shared/sum.wgsl")),
    ("lists", include_wgsl!("../../../shaders/shared/lists.wgsl")),
    (
        "gathered",
        include_wgsl!("../../../shaders/shared/gathered.wgsl"),
    ),
    ("wall", include_wgsl!("../../../shaders/shared/wall.wgsl")),
    (
        "wall_run",
        include_wgsl!("../../../shaders/shared/wall_run.wgsl"),
    ),
];

/// The complete WGSL of a file: the constants, the files that its first line imports, its own.
///
/// # Panics
/// If the file does not start with `// import:` and names of `shaders/shared/`.
pub fn source(shader: Shader) -> String {
    Choice::default().source(shader)
}

/// Files that take the place of others that shaders import.
#[derive(Clone, Copy, Default)]
pub struct Choice<'a> {
    /// The text of a custom contact law, in place of `law.wgsl`.
    pub law: Option<&'a str>,
    /// Source of spheres: `balls.wgsl` or `clumps.wgsl` in place of `spheres.wgsl`.
    pub spheres: SphereSource,
}

const LAW: &str = "law";
const SPHERES: &str = "spheres";
const BALLS: &str = "balls";
const CLUMPS: &str = "clumps";

impl Choice<'_> {
    /// [`source`] with this choice.
    ///
    /// # Panics
    /// As [`source`].
    pub fn source(self, shader: Shader) -> String {
        let mut law = "";
        let source = assemble(shader.name(), file(shader), |import| match self.law {
            // Behind all else, so that its lines can be told.
            Some(own) if import == LAW => {
                law = own;
                ""
            }
            _ => {
                let chosen = match self.spheres {
                    SphereSource::Balls if import == SPHERES => BALLS,
                    SphereSource::Clumps if import == SPHERES => CLUMPS,
                    _ => import,
                };
                shared(chosen)
                    .unwrap_or_else(|| panic!("shaders/shared/{chosen}.wgsl does not exist"))
            }
        });
        source + law
    }
}

/// The complete WGSL of a shader: the constants, what `imported` has for each name of its first line,
/// its own text.
///
/// # Panics
/// If its first line is no `// import: `.
pub(crate) fn assemble<'a>(
    name: &str,
    text: &str,
    mut imported: impl FnMut(&str) -> &'a str,
) -> String {
    let imports = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("// import: "))
        .unwrap_or_else(|| panic!("shaders/{name}.wgsl must start with an import"));
    let mut source = constants();
    for import in imports.split(", ") {
        source.push_str(imported(import));
    }
    source + text
}

/// Text that shaders import by a name: a file of `shaders/shared/`, the structs of the host as `layout`, or as `geometry`
/// and `history` what reads them from the buffers of these names.
pub(crate) fn shared(name: &str) -> Option<&'static str> {
    match name {
        "layout" => Some(&layout::WGSL),
        "geometry" => Some(&layout::GEOMETRY),
        "history" => Some(&layout::HISTORY),
        _ => {
            let found = SHARED.iter().find(|(shared, _)| *shared == name);
            found.map(|(_, text)| *text)
        }
    }
}

/// Mistake in a custom contact law, and its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LawMistake {
    /// Line, counted from 1; 0 if it is not in one place.
    pub line: u32,
    /// Column, counted from 1.
    pub column: u32,
    /// Message of naga.
    pub message: String,
}

/// Checks a contact law of the user's, the text of a WGSL file, with naga.
///
/// # Errors
/// The first mistake in it.
pub fn check_law(law: &str) -> Result<(), LawMistake> {
    check_size(law)?;
    check_law_in(Pass::Contacts, law)?;
    check_law_in(Pass::Walls, law)
}

/// Most bytes of a law.
const LAW_BYTES: usize = 1 << 16;
/// Most signs (operators, dots, brackets and commas) of a statement of a law, and most branches `else` in all: whoever compiles
/// it goes as deep into it.
const LAW_DEPTH: usize = 500;
/// Most bytes of a variable of a law, of which each thread has its own.
const LAW_VARIABLE: u32 = 1 << 14;

/// Refuses a law on which a compiler would run out of its stack.
fn check_size(law: &str) -> Result<(), LawMistake> {
    let mistake = |line: usize, message: String| LawMistake {
        line: line as u32,
        column: u32::from(line > 0),
        message,
    };
    if law.len() > LAW_BYTES {
        let bytes = law.len();
        return Err(mistake(
            0,
            format!("it has {bytes} bytes, and at most {LAW_BYTES} can be compiled"),
        ));
    }
    let (mut signs, mut branches, mut comments) = (0, 0, 0_usize);
    for (number, line) in law.lines().enumerate() {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let length = match (comments, rest) {
                (0, rest) if rest.starts_with("//") => break,
                (_, rest) if rest.starts_with("/*") => {
                    comments += 1;
                    2
                }
                (1.., rest) if rest.starts_with("*/") => {
                    comments -= 1;
                    2
                }
                (1.., _) => first.len_utf8(),
                (0, rest) if rest.starts_with("else") => {
                    branches += 1;
                    4
                }
                _ => {
                    signs = match first {
                        ';' | '{' | '}' => 0,
                        _ => signs + usize::from(first.is_ascii_punctuation() && first != '_'),
                    };
                    first.len_utf8()
                }
            };
            rest = &rest[length..];
            if signs > LAW_DEPTH || branches > LAW_DEPTH {
                let what = match signs > LAW_DEPTH {
                    true => "the statement has more signs than the",
                    false => "it has more branches than the",
                };
                let message = format!("{what} {LAW_DEPTH} that can be compiled");
                return Err(mistake(number + 1, message));
            }
        }
    }
    Ok(())
}

/// Refuses variables that are too large for a thread.
fn check_variables(module: &naga::Module) -> Result<(), String> {
    let of_functions = module.functions.iter().flat_map(|(_, function)| {
        let locals = function.local_variables.iter();
        locals.map(|(_, local)| (local.name.as_deref(), local.ty))
    });
    let globals = module.global_variables.iter();
    let own = globals.filter(|(_, global)| global.binding.is_none());
    let own = own.map(|(_, global)| (global.name.as_deref(), global.ty));
    for (name, kind) in of_functions.chain(own) {
        let bytes = module.types[kind].inner.try_size(module.to_ctx());
        if bytes.is_none_or(|bytes| bytes > LAW_VARIABLE) {
            let name = name.unwrap_or("of it");
            return Err(format!(
                "the variable {name} has more than the {LAW_VARIABLE} bytes that each thread can have"
            ));
        }
    }
    Ok(())
}

fn check_law_in(pass: Pass, law: &str) -> Result<(), LawMistake> {
    let choice = |law| Choice {
        law: Some(law),
        spheres: SphereSource::Posed,
    };
    let ours = choice("").source(Shader::Pass(pass));
    let source = choice(law).source(Shader::Pass(pass));
    let lines = ours.lines().count() as u32;
    let mistake = |location: Option<naga::SourceLocation>, message: String| {
        let place = location.filter(|place| place.line_number > lines);
        let message = match place {
            Some(_) => message,
            // Where our own text calls the law.
            None if law.contains("fn contact_law") => format!("{message}; expected {SIGNATURE}"),
            None => format!("there is no {SIGNATURE}"),
        };
        LawMistake {
            line: place.map_or(0, |place| place.line_number - lines),
            column: place.map_or(0, |place| place.line_position),
            message,
        }
    };
    let module = naga::front::wgsl::parse_str(&source)
        .map_err(|error| mistake(error.location(&source), error.message().to_owned()))?;
    check_variables(&module).map_err(|message| LawMistake {
        line: 0,
        column: 0,
        message,
    })?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    validator.validate(&module).map_err(|error| {
        let inner = error.as_inner();
        let mut message = inner.to_string();
        let mut cause = std::error::Error::source(inner);
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        // The spans go from the function to what is wrong in it.
        let places = error.spans().map(|(span, _)| span.location(&source));
        let place = places.filter(|place| place.line_number > lines).last();
        if let Some(line) =
            place.and_then(|place| source.lines().nth(place.line_number as usize - 1))
        {
            message = format!("{message}, in `{}`", line.trim());
        }
        mistake(place, message)
    })?;
    Ok(())
}

/// Function that a contact law must have.
const SIGNATURE: &str = "function `fn contact_law(contact: Contact, pair: Pair, history: History, \
                         params: Params) -> Response`";

/// The constants that the shaders share with the host, from where the host has them.
fn constants() -> String {
    let lists = [grid::CONSTANTS, facet::CONSTANTS, layout::CONSTANTS];
    let mut text = format!("const PI: f32 = {}f;\n", std::f32::consts::PI);
    for (name, value) in lists.concat() {
        text += &format!("const {name}: u32 = {value}u;\n");
    }
    text
}
