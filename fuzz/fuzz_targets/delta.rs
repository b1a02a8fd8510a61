#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| snapshotter_fuzz::archives::read_delta(data));
