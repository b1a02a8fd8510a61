#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| snapshotter_fuzz::arguments::read(data));
