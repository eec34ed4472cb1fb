#![no_main]

use rockfall_fuzz::{parsers, takes_or_says_why, write_seed};

libfuzzer_sys::fuzz_target!(
    init: write_seed(&parsers::KEPT.1),
    |bytes: &[u8]| takes_or_says_why(parsers::npz(bytes))
);
