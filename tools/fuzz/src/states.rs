#![no_main]

use rockfall_fuzz::{begin_with, parsers, takes_or_says_why};

libfuzzer_sys::fuzz_target!(
    init: begin_with(&parsers::KEPT.1),
    |bytes: &[u8]| takes_or_says_why(parsers::npz(bytes))
);
