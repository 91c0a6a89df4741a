// SPDX-License-Identifier: Apache-2.0
//! Runs a kernel that the build script embedded. `cudaway-example LIBCUDA` loads the PTX with the CUDA driver, on whatever device that has; `cudaway-example
//! --hip LIBRARY` loads the code for AMD processors with HIP. The dozen C functions that it takes are declared here.

use std::env;
use std::ffi::{c_void, CStr, CString};
use std::os::raw::{c_char, c_int, c_uint};
use std::process::exit;
use std::ptr::{null, null_mut};

mod portable {
    include!(concat!(env!("OUT_DIR"), "/portable.rs"));
}
mod native {
    include!(concat!(env!("OUT_DIR"), "/native.rs"));
}

extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}
const RTLD_NOW: c_int = 2;

struct Library(*mut c_void);

impl Library {
    fn open(path: &str) -> Library {
        let name = CString::new(path).expect("a name without NUL");
        let library = unsafe { dlopen(name.as_ptr(), RTLD_NOW) };
        if library.is_null() {
            eprintln!("{}", unsafe { CStr::from_ptr(dlerror()) }.to_string_lossy());
            exit(2);
        }
        Library(library)
    }

    /// The function `name`, as the C type that the caller names. Panics where the library has none.
    unsafe fn get<F: Copy>(&self, name: &str) -> F {
        let c = CString::new(name).expect("a name without NUL");
        let p = dlsym(self.0, c.as_ptr());
        assert!(!p.is_null(), "the library has no {}", name);
        std::mem::transmute_copy(&p)
    }
}

fn check(what: &str, code: c_int) {
    if code != 0 {
        eprintln!("{} gives error {}", what, code);
        exit(1);
    }
}

type Handle = *mut c_void;
type Launch = unsafe extern "C" fn(Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void) -> c_int;

fn with_cuda(path: &str, x: &mut [f32]) {
    let l = Library::open(path);
    let bytes = std::mem::size_of_val(x);
    unsafe {
        let init: unsafe extern "C" fn(c_uint) -> c_int = l.get("cuInit");
        let retain: unsafe extern "C" fn(*mut Handle, c_int) -> c_int = l.get("cuDevicePrimaryCtxRetain");
        let current: unsafe extern "C" fn(Handle) -> c_int = l.get("cuCtxSetCurrent");
        let load: unsafe extern "C" fn(*mut Handle, *const c_void) -> c_int = l.get("cuModuleLoadData");
        let function: unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> c_int = l.get("cuModuleGetFunction");
        let allocate: unsafe extern "C" fn(*mut u64, usize) -> c_int = l.get("cuMemAlloc_v2");
        let upload: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int = l.get("cuMemcpyHtoD_v2");
        let download: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int = l.get("cuMemcpyDtoH_v2");
        let launch: Launch = l.get("cuLaunchKernel");
        let (mut context, mut module, mut kernel, mut d) = (null_mut(), null_mut(), null_mut(), 0u64);
        let mut n = x.len() as u32;
        let name = CString::new(portable::PORTABLE_KERNELS[0].0).expect("a kernel's name");
        check("cuInit", init(0));
        check("cuDevicePrimaryCtxRetain", retain(&mut context, 0));
        check("cuCtxSetCurrent", current(context));
        check("cuModuleLoadData", load(&mut module, portable::PORTABLE.0.as_ptr().cast()));
        check("cuModuleGetFunction", function(&mut kernel, module, name.as_ptr()));
        check("cuMemAlloc", allocate(&mut d, bytes));
        check("cuMemcpyHtoD", upload(d, x.as_ptr().cast(), bytes));
        let mut parameters: [*mut c_void; 2] = [(&mut d as *mut u64).cast(), (&mut n as *mut u32).cast()];
        check("cuLaunchKernel", launch(kernel, (n + 127) / 128, 1, 1, 128, 1, 1, 0, null_mut(), parameters.as_mut_ptr(), null_mut()));
        check("cuMemcpyDtoH", download(x.as_mut_ptr().cast(), d, bytes));
    }
}

fn with_hip(path: &str, x: &mut [f32]) {
    let l = Library::open(path);
    let bytes = std::mem::size_of_val(x);
    #[repr(C)]
    struct Parameters {
        x: *mut c_void,
        n: u32,
    }
    unsafe {
        let load: unsafe extern "C" fn(*mut Handle, *const c_void) -> c_int = l.get("hipModuleLoadData");
        let function: unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> c_int = l.get("hipModuleGetFunction");
        let allocate: unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int = l.get("hipMalloc");
        let copy: unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> c_int = l.get("hipMemcpy");
        let launch: Launch = l.get("hipModuleLaunchKernel");
        let (mut module, mut kernel, mut d) = (null_mut(), null_mut(), null_mut());
        let (name, count, size) = native::NATIVE_KERNELS[0];
        assert_eq!((count, size), (2, 12));
        let name = CString::new(name).expect("a kernel's name");
        check("hipModuleLoadData", load(&mut module, native::NATIVE.0.as_ptr().cast()));
        check("hipModuleGetFunction", function(&mut kernel, module, name.as_ptr()));
        check("hipMalloc", allocate(&mut d, bytes));
        check("hipMemcpy", copy(d, x.as_ptr().cast(), bytes, 1));
        let mut parameters = Parameters { x: d, n: x.len() as u32 };
        let mut size = size as usize;
        // HIP_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END
        let mut extra: [*mut c_void; 5] =
            [1 as *mut c_void, (&mut parameters as *mut Parameters).cast(), 2 as *mut c_void, (&mut size as *mut usize).cast(), 3 as *mut c_void];
        check("hipModuleLaunchKernel", launch(kernel, (parameters.n + 127) / 128, 1, 1, 128, 1, 1, 0, null_mut(), null::<c_void>() as *mut _, extra.as_mut_ptr()));
        check("hipMemcpy", copy(x.as_mut_ptr().cast(), d, bytes, 2));
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let mut x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => with_cuda("libcuda.so.1", &mut x),
        ["--hip", path] => with_hip(path, &mut x),
        [path] => with_cuda(path, &mut x),
        _ => {
            eprintln!("usage: cudaway-example [LIBCUDA | --hip LIBRARY]");
            exit(2);
        }
    }
    for (i, v) in x.iter().enumerate() {
        if *v != i as f32 * 3.0 {
            eprintln!("x[{}] is {}, not {}", i, v, i as f32 * 3.0);
            exit(1);
        }
    }
    println!("{} values are right", x.len());
}
