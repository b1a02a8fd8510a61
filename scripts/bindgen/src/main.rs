//! Writes the JavaScript side of a WebAssembly module that a Worker imports: `bindgen <module> <folder>
//! <name>` makes `<name>.js` and `<name>_bg.wasm` in the folder.
//!
//! It calls the library of the `wasm-bindgen` command, whose other parts take minutes to compile.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder, name] = arguments.as_slice() else {
        eprintln!("Usage: bindgen <module> <folder> <name>");
        return ExitCode::FAILURE;
    };
    let mut bindgen = Bindgen::new();
    // The Worker instantiates the module itself, and again after a trap.
    let written = bindgen
        .input_path(module)
        .out_name(name)
        .typescript(false)
        .omit_default_module_path(true)
        .reset_state_function(true)
        .web(true)
        .and_then(|bindgen| bindgen.generate(folder));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("The JavaScript side of {module} could not be written: {error:?}");
            ExitCode::FAILURE
        }
    }
}
