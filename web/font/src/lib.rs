//! The font of the window and of legends, in the place of egui's crate of that name, which has four.
//!
//! A page of a browser loads it, so it has no more than outlines: of 362 kB, 283 were programs that fit outlines to the pixels of
//! coarse displays, and tables for pairs of letters, which nothing here reads. All letters are there. The workspace's `Cargo.toml` puts
//! this in its place; who builds the library elsewhere has the original, and letters that look the same. Made of Ubuntu-Light.ttf, whose
//! licence is `UFL.txt`, by fonttools: `pyftsubset Ubuntu-Light.ttf '--unicodes=*' --no-hinting --layout-features= --notdef-outline
//! '--name-IDs=*' --drop-tables+=GSUB,GPOS,GDEF,DSIG,kern,VDMX,hdmx,LTSH,gasp`.

/// Ubuntu Light, as the file of a TrueType font.
pub const UBUNTU_LIGHT: &[u8] = include_bytes!("../light.ttf");
