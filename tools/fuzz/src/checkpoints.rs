#![no_main]

use rockfall_fuzz::{parsers, takes_or_says_why, write_seed};

libfuzzer_sys::fuzz_target!(
    init: write_seed(&parsers::TIED.1),
    |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        parsers::rehash(&mut bytes);
        takes_or_says_why(parsers::checkpoint(bytes));
    }
);
