#![no_main]

use rockfall_fuzz::{begin_with, parsers, takes_or_says_why};

libfuzzer_sys::fuzz_target!(
    init: begin_with(&parsers::TIED.1),
    |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        parsers::rehash(&mut bytes);
        takes_or_says_why(parsers::checkpoint(bytes));
    }
);
