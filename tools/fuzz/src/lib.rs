//! Helpers of the targets of cargo-fuzz.

use std::path::Path;

#[path = "../../../tests/it/parsers.rs"]
pub mod parsers;

/// Whoever refuses input says why.
pub fn takes_or_says_why(outcome: Result<(), String>) {
    if let Err(sentence) = outcome {
        let length = sentence.len();
        assert!((10..20_000).contains(&length), "refused with: {sentence}");
    }
}

/// Writes the seed of a target: an input without damage, in the folder that `cargo xtask fuzz` gives.
pub fn write_seed(bytes: &[u8]) {
    if let Some(folder) = std::env::var_os("ROCKFALL_FUZZ_SEED") {
        std::fs::write(Path::new(&folder).join("whole"), bytes).expect("the folder is there");
    }
}
