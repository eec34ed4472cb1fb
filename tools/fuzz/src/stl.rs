#![no_main]

use rockfall_fuzz::{parsers, takes_or_says_why};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| takes_or_says_why(parsers::stl(bytes)));
