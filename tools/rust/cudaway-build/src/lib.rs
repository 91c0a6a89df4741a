// SPDX-License-Identifier: Apache-2.0
//! Compiles CUDA C and PTX with `cudaway-cc` in a build script, and embeds the result.
//!
//! In `build.rs`:
//!
//! ```no_run
//! cudaway_build::Kernels::new("kernels/scale.cu").targets(&["gfx1030", "gfx1100", "gfx90a"]).compile("scale");
//! ```
//!
//! In the program:
//!
//! ```ignore
//! mod scale { include!(concat!(env!("OUT_DIR"), "/scale.rs")); }
//! // scale::SCALE.0: the bytes, for hipModuleLoadData; scale::SCALE_KERNELS: (name, parameters, bytes of their block)
//! ```
//!
//! `cudaway-cc` is what the environment variable `CUDAWAY_CC` names, else the one in `PATH`. Cargo runs the script again when a source or header, or `cudaway-cc`,
//! changes.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What went wrong. `Display` says it in full, with what `cudaway-cc` printed.
#[derive(Debug)]
pub enum Error {
    /// `cudaway-cc` cannot be started.
    NotFound(PathBuf, io::Error),
    /// It refused: the source and what it printed.
    Refused(PathBuf, String),
    /// A file cannot be read or written.
    File(PathBuf, io::Error),
    /// Not in a build script: Cargo did not set this variable.
    NotACargoBuild(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotFound(path, e) => write!(f, "{}: {}; install CUDAway, or set CUDAWAY_CC to its cudaway-cc", path.display(), e),
            Error::Refused(source, text) => write!(f, "cudaway-cc does not compile {}:\n{}", source.display(), text.trim_end()),
            Error::File(path, e) => write!(f, "{}: {}", path.display(), e),
            Error::NotACargoBuild(name) => write!(f, "{} is not set: call this from a build script", name),
        }
    }
}

impl std::error::Error for Error {}

/// One source file and how to compile it.
#[derive(Clone, Debug)]
pub struct Kernels {
    source: PathBuf,
    targets: Vec<String>,
    arguments: Vec<OsString>,
}

impl Kernels {
    /// CUDA C (`.cu`), PTX, a fatbin, or a program that holds one; relative to the package.
    pub fn new<P: AsRef<Path>>(source: P) -> Kernels {
        Kernels { source: source.as_ref().to_path_buf(), targets: Vec::new(), arguments: Vec::new() }
    }

    /// The AMD processors to compile for: several make one container, which `hipModuleLoadData` takes. Without this call the result is PTX text with a NUL behind
    /// it, which `cuModuleLoadData` takes on every device.
    pub fn targets<S: AsRef<str>>(&mut self, processors: &[S]) -> &mut Kernels {
        self.targets.extend(processors.iter().map(|p| p.as_ref().to_string()));
        self
    }

    /// A folder of headers, for CUDA C.
    pub fn include<P: AsRef<Path>>(&mut self, folder: P) -> &mut Kernels {
        self.argument("-I").argument(folder.as_ref())
    }

    /// A macro, for CUDA C.
    pub fn define(&mut self, name: &str, value: &str) -> &mut Kernels {
        self.argument("-D").argument(format!("{}={}", name, value))
    }

    /// Any other argument of `cudaway-cc`.
    pub fn argument<S: AsRef<OsStr>>(&mut self, argument: S) -> &mut Kernels {
        self.arguments.push(argument.as_ref().to_os_string());
        self
    }

    /// Compile to `OUT_DIR/NAME.rs`, which defines `NAME` and `NAME_KERNELS` in upper case. Ends the build script with the reason where that fails.
    pub fn compile(&self, name: &str) -> PathBuf {
        match self.try_compile(name) {
            Ok(path) => path,
            Err(e) => {
                eprintln!("{}", e);
                std::process::exit(1);
            }
        }
    }

    /// The same, for a script that handles errors itself.
    pub fn try_compile(&self, name: &str) -> Result<PathBuf, Error> {
        let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or(Error::NotACargoBuild("OUT_DIR"))?);
        let out = folder.join(format!("{}.rs", name));
        let rule = folder.join(format!("{}.d", name));
        for variable in ["CUDAWAY_CC", "CUDA_HOME", "PATH"] {
            println!("cargo:rerun-if-env-changed={}", variable);
        }
        println!("cargo:rerun-if-changed={}", self.source.display());
        let compiler = compiler();
        let mut command = Command::new(&compiler);
        command.arg(&self.source).arg("--embed").arg("rust").arg("--symbol").arg(name).arg("--depfile").arg(&rule).arg("-o").arg(&out);
        if self.targets.is_empty() {
            command.arg("--emit").arg("ptx");
        } else {
            command.arg("--target").arg(self.targets.join(","));
        }
        let done = command.args(&self.arguments).output().map_err(|e| Error::NotFound(compiler.clone(), e))?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if !done.status.success() {
            return Err(Error::Refused(self.source.clone(), if said.is_empty() { done.status.to_string() } else { said }));
        }
        for line in said.lines() {
            println!("cargo:warning={}", line);
        }
        if compiler.components().count() > 1 {
            println!("cargo:rerun-if-changed={}", compiler.display());
        }
        for file in prerequisites(&fs::read_to_string(&rule).map_err(|e| Error::File(rule.clone(), e))?) {
            println!("cargo:rerun-if-changed={}", file);
        }
        Ok(out)
    }
}

/// `CUDAWAY_CC`, else the first in `PATH`, else the bare name, for the error.
fn compiler() -> PathBuf {
    if let Some(named) = env::var_os("CUDAWAY_CC").filter(|v| !v.is_empty()) {
        return PathBuf::from(named);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|folder| folder.join("cudaway-cc")).find(|file| file.is_file());
    found.unwrap_or_else(|| PathBuf::from("cudaway-cc"))
}

/// The names behind the colon of a rule for make: blanks and `#` have a backslash in front, `$` is doubled.
fn prerequisites(rule: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut c = match rule.find(": ").or_else(|| rule.find(":\n")) {
        Some(at) => rule[at + 1..].chars().peekable(),
        None => return names,
    };
    while let Some(x) = c.next() {
        match (x, c.peek()) {
            ('\\', Some('\n')) => {
                c.next();
            }
            ('\\', Some(' ')) | ('\\', Some('#')) | ('$', Some('$')) => name.extend(c.next()),
            (' ', _) | ('\n', _) | ('\t', _) => {
                if !name.is_empty() {
                    names.push(std::mem::take(&mut name));
                }
            }
            _ => name.push(x),
        }
    }
    if !name.is_empty() {
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_make() {
        assert_eq!(prerequisites("a.rs: \\\n  k.cu \\\n  with\\ blank/x.h \\\n  a\\#b \\\n  $$x\n"), ["k.cu", "with blank/x.h", "a#b", "$x"]);
        assert_eq!(prerequisites("out/a\\ b.rs: k.ptx"), ["k.ptx"]);
        assert!(prerequisites("nothing").is_empty());
        assert!(prerequisites("a.rs:\n").is_empty());
    }

    #[test]
    fn errors_name_the_next_step() {
        env::set_var("OUT_DIR", env::temp_dir());
        env::set_var("CUDAWAY_CC", "/nonexistent/cudaway-cc");
        let e = Kernels::new("k.ptx").try_compile("k").unwrap_err().to_string();
        assert!(e.contains("/nonexistent/cudaway-cc") && e.contains("CUDAWAY_CC"), "{}", e);
    }
}
