//! Structs and constants that the shaders share with the host: declared once, here made into Rust and WGSL.

/// The text of a shader's file, as `include_str!` gives it. In a page of a browser, which loads every byte, comments and
/// indents are left out; lines keep their numbers, which messages name.
#[cfg(feature = "gpu")]
macro_rules! include_wgsl {
    ($path:literal) => {{
        #[cfg(not(target_family = "wasm"))]
        const TEXT: &str = include_str!($path);
        #[cfg(target_family = "wasm")]
        const TEXT: &str = {
            const WHOLE: &[u8] = include_bytes!($path);
            const STRIPPED: ([u8; WHOLE.len()], usize) = $crate::math::wgsl::strip(WHOLE);
            match std::str::from_utf8(STRIPPED.0.split_at(STRIPPED.1).0) {
                Ok(text) => text,
                Err(_) => panic!("a shader is UTF-8"),
            }
        };
        TEXT
    }};
}
#[cfg(feature = "gpu")]
pub(crate) use include_wgsl;

/// A shader's text without indents and comments, the first line apart, which may name imports; and how long it is then.
#[cfg(any(test, all(feature = "gpu", target_family = "wasm")))]
pub(crate) const fn strip<const LENGTH: usize>(text: &[u8]) -> ([u8; LENGTH], usize) {
    let mut stripped = [0; LENGTH];
    let mut length = 0;
    let mut at = 0;
    let mut is_first_line = true;
    let mut is_indent = true;
    while at < text.len() {
        let is_comment =
            !is_first_line && text[at] == b'/' && at + 1 < text.len() && text[at + 1] == b'/';
        if is_comment {
            while at < text.len() && text[at] != b'\n' {
                at += 1;
            }
            continue;
        }
        if !(is_indent && text[at] == b' ') {
            stripped[length] = text[at];
            length += 1;
            is_indent = text[at] == b'\n';
            is_first_line = is_first_line && !is_indent;
        }
        at += 1;
    }
    (stripped, length)
}

/// A struct as the shaders have it.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Its name.
    pub name: &'static str,
    /// Its size on the host, bytes.
    pub size: usize,
    /// Its fields.
    pub members: &'static [Member],
}

/// A field of a struct that the shaders share.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Its name; that of padding starts with `_pad`.
    pub name: &'static str,
    /// Its type in WGSL.
    pub wgsl: &'static str,
    /// Its offset on the host, bytes.
    pub offset: usize,
}

impl Member {
    /// Whether it is there to fill the struct up.
    pub fn is_padding(&self) -> bool {
        self.name.starts_with("_pad")
    }

    /// Its name and offset in WGSL. An array of padding is single members there: in uniform buffers, its elements
    /// would have 16 bytes.
    fn in_wgsl(&self) -> Vec<(String, &'static str, usize)> {
        let words = match self.wgsl {
            "array<u32, 2>" => 2,
            "array<u32, 3>" => 3,
            wgsl => return vec![(self.name.to_owned(), wgsl, self.offset)],
        };
        let word = |k: usize| (format!("{}{k}", self.name), "u32", self.offset + 4 * k);
        (0..words).map(word).collect()
    }
}

impl Layout {
    fn in_wgsl(&self) -> impl Iterator<Item = (String, &'static str, usize)> {
        self.members.iter().flat_map(Member::in_wgsl)
    }

    /// The declaration of the struct in WGSL.
    pub fn wgsl(&self) -> String {
        let members = self
            .in_wgsl()
            .map(|(name, wgsl, _)| format!("    {name}: {wgsl},\n"));
        format!(
            "struct {} {{\n{}}}\n\n",
            self.name,
            members.collect::<String>()
        )
    }

    /// A function in WGSL that reads the struct, of numbers and `vec3` alone, from an array `rows` of `vec4<u32>`,
    /// from the element `row` on: `read_node` of the struct `Node`.
    pub fn reader(&self, rows: &str) -> String {
        let name = self.name;
        let lines = (0..self.size / 16).map(|k| format!("    let row{k} = {rows}[row + {k}u];\n"));
        let members = self.in_wgsl().map(|(_, wgsl, offset)| {
            let bits = format!("row{}.{}", offset / 16, components(wgsl, offset));
            match wgsl {
                "u32" => format!("        {bits},\n"),
                _ => format!("        bitcast<{wgsl}>({bits}),\n"),
            }
        });
        format!(
            "fn read_{}(row: u32) -> {name} {{\n{}    return {name}(\n{}    );\n}}\n\n",
            name.to_lowercase(),
            lines.collect::<String>(),
            members.collect::<String>(),
        )
    }

    /// Functions in WGSL for the struct, of `f32` and `vec3<f32>` alone, of which an array `numbers` of `f32` has the
    /// first numbers for each place, as many as the constant `count` says: `read_history` and `write_history` of the
    /// struct `History`, for which what lies behind is zero, and `is_empty`, whether all of it is zero.
    pub fn partial(&self, numbers: &str, count: &str) -> String {
        let name = self.name;
        let function = name.to_lowercase();
        let (mut read, mut write, mut empty) = (String::new(), String::new(), Vec::new());
        for &Member { name, wgsl, offset } in self.members {
            let first = offset / 4;
            let at = |k: usize| format!("{numbers}[first + {}u]", first + k);
            let (taken, given, none) = match wgsl {
                "vec3<f32>" => (
                    format!("vec3<f32>({}, {}, {})", at(0), at(1), at(2)),
                    ["x", "y", "z"]
                        .iter()
                        .zip(0..)
                        .fold(String::new(), |given, (axis, k)| {
                            given + &format!("        {} = value.{name}.{axis};\n", at(k))
                        }),
                    format!("all(value.{name} == vec3<f32>())"),
                ),
                _ => (
                    at(0),
                    format!("        {} = value.{name};\n", at(0)),
                    format!("value.{name} == 0.0"),
                ),
            };
            let used = format!("    if {count} > {first}u {{\n");
            read += &format!("{used}        value.{name} = {taken};\n    }}\n");
            write += &format!("{used}{given}    }}\n");
            empty.push(none);
        }
        let empty = empty.join(" && ");
        format!(
            "override {count}: u32 = 0u;\n\n\
             fn read_{function}(place: u32) -> {name} {{\n    let first = {count} * place;\n    var value: {name};\n{read}    return value;\n}}\n\n\
             fn write_{function}(place: u32, value: {name}) {{\n    let first = {count} * place;\n{write}}}\n\n\
             fn is_empty(value: {name}) -> bool {{\n    return {empty};\n}}\n\n"
        )
    }
}

/// Which of the numbers of a row of four belong to a member at an offset.
fn components(wgsl: &str, offset: usize) -> &'static str {
    match wgsl {
        "vec3<f32>" => "xyz",
        _ => &"xyzw"[offset % 16 / 4..][..1],
    }
}

/// A `u32` that the threads of the GPU change together, an atomic there.
pub type Atomic = u32;

/// Declares structs, and gives each a constant `LAYOUT`. The type of a field is one that [`type_name`] knows or
/// another of these structs.
macro_rules! shared_structs {
    ($(
        $(#[$of_struct:meta])*
        pub struct $Name:ident {
            $($(#[$doc:meta])* pub $field:ident: $Type:tt,)*
        }
    )*) => {$(
        $(#[$of_struct])*
        pub struct $Name {
            $($(#[$doc])* pub $field: $Type,)*
        }

        impl $Name {
            /// The struct as the shaders have it.
            #[doc(hidden)]
            pub const LAYOUT: $crate::math::wgsl::Layout = $crate::math::wgsl::Layout {
                name: stringify!($Name),
                size: size_of::<$Name>(),
                members: &[$($crate::math::wgsl::Member {
                    name: stringify!($field),
                    wgsl: $crate::math::wgsl::type_name!($Type),
                    offset: std::mem::offset_of!($Name, $field),
                }),*],
            };
        }
    )*};
}

/// The name of a type in WGSL.
#[rustfmt::skip]
macro_rules! type_name {
    (Vec2) => { "vec2<f32>" };
    (Vec3) => { "vec3<f32>" };
    (Vec4) => { "vec4<f32>" };
    (IVec3) => { "vec3<i32>" };
    (IVec4) => { "vec4<i32>" };
    (UVec3) => { "vec3<u32>" };
    (Atomic) => { "atomic<u32>" };
    ([u32; $count:literal]) => { concat!("array<u32, ", $count, ">") };
    ([Vec4; $count:literal]) => { concat!("array<vec4<f32>, ", $count, ">") };
    ($Name:ident) => { stringify!($Name) };
}

/// Declares constants, and `CONSTANTS`, a list of them for the shaders.
macro_rules! shared_constants {
    ($($(#[$doc:meta])* pub const $NAME:ident: $Type:ty = $value:expr;)*) => {
        $($(#[$doc])* pub const $NAME: $Type = $value;)*

        /// The constants above, by name.
        pub const CONSTANTS: &[(&str, u32)] = &[$((stringify!($NAME), $NAME as u32)),*];
    };
}

pub(crate) use {shared_constants, shared_structs, type_name};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stripped_shader_keeps_its_code_and_its_lines() {
        let text = "// import: grid\n\n// Why.\nfn f() { // What.\n    return 6 / 3;\n}\n// End";
        let (stripped, length) = strip::<80>(text.as_bytes());
        let stripped = std::str::from_utf8(&stripped[..length]).unwrap();
        assert_eq!(
            stripped,
            "// import: grid\n\n\nfn f() { \nreturn 6 / 3;\n}\n"
        );
    }
}
