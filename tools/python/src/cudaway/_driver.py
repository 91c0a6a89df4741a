# SPDX-License-Identifier: Apache-2.0
"""The CUDA driver by ctypes: one context, the primary one of device 0, and its default stream."""

import ctypes
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

import numpy

from ._compiler import CompileError
from ._installation import Error, driver_is_loaded, library


class CudaError(Error):
    """A CUDA error: `code`, `name`; the text says which call."""

    def __init__(self, call, code, name, text):
        super().__init__(f"{call}: {name} ({code}): {text}")
        self.code = code
        self.name = name


_FUNCTIONS = {
    "cuInit": [c_uint],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
    "cuGetErrorString": [c_int, POINTER(c_char_p)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDeviceGetName": [c_char_p, c_int, c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxSetCurrent": [c_void_p],
    "cuCtxSynchronize": [],
    "cuModuleLoadDataEx": [POINTER(c_void_p), c_void_p, c_uint, POINTER(c_int), POINTER(c_void_p)],
    "cuModuleUnload": [c_void_p],
    "cuModuleGetFunctionCount": [POINTER(c_uint), c_void_p],
    "cuModuleEnumerateFunctions": [POINTER(c_void_p), c_uint, c_void_p],
    "cuModuleGetFunction": [POINTER(c_void_p), c_void_p, c_char_p],
    "cuFuncGetName": [POINTER(c_char_p), c_void_p],
    "cuFuncGetParamInfo": [c_void_p, c_size_t, POINTER(c_size_t), POINTER(c_size_t)],
    "cuFuncLoad": [c_void_p],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemcpyHtoD_v2": [c_uint64, c_void_p, c_size_t],
    "cuMemcpyDtoH_v2": [c_void_p, c_uint64, c_size_t],
    "cuLaunchKernel": [c_void_p, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_void_p, POINTER(c_void_p), POINTER(c_void_p)],
}
_INVALID_VALUE = 1
_JIT_ERROR_LOG_BUFFER, _JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 5, 6


def _loaded_driver():
    """The driver that is in this process already: the layer of cudaway-trace and cudaway-diff, or that of another package."""
    try:
        return ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None


class _Driver:
    """The library with its context. Every call makes the context this thread's."""

    def __init__(self):
        self.library = _loaded_driver()
        if self.library is None:
            path = library("libcuda.so.1")
            try:
                self.library = ctypes.CDLL(path)
            except OSError as e:
                raise Error(f"{path} does not load: {e}") from None
        driver_is_loaded()
        for name, arguments in _FUNCTIONS.items():
            getattr(self.library, name).argtypes = arguments
        self.threads = threading.local()
        self.device = c_int()
        self.context = c_void_p()
        self.check("cuInit", self.library.cuInit(0))
        self.check("cuDeviceGet", self.library.cuDeviceGet(byref(self.device), 0))
        self.check("cuDevicePrimaryCtxRetain", self.library.cuDevicePrimaryCtxRetain(byref(self.context), self.device))

    def code(self, call, *arguments):
        if not getattr(self.threads, "current", False):
            self.check("cuCtxSetCurrent", self.library.cuCtxSetCurrent(self.context))
            self.threads.current = True
        return getattr(self.library, call)(*arguments)

    def __call__(self, call, *arguments):
        self.check(call, self.code(call, *arguments))

    def check(self, call, code):
        if code:
            name, text = c_char_p(), c_char_p()
            self.library.cuGetErrorName(code, byref(name))
            self.library.cuGetErrorString(code, byref(text))
            raise CudaError(call, code, (name.value or b"unknown error").decode(), (text.value or b"").decode())


_one = None
_lock = threading.Lock()


def _driver():
    global _one
    with _lock:
        if _one is None:
            _one = _Driver()
    return _one


def device_name():
    """What executes: "CUDAway host (...)", or the GPU's name."""
    d = _driver()
    name = ctypes.create_string_buffer(256)
    d("cuDeviceGetName", name, len(name), d.device)
    return name.value.decode(errors="replace")


def synchronize():
    """Wait until all launches are done; raises what went wrong in them."""
    _driver()("cuCtxSynchronize")


class DeviceArray:
    """An array in the device's memory, C-contiguous; freed with the object."""

    def __init__(self, shape, dtype=numpy.float32):
        self.shape = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
        self.dtype = numpy.dtype(dtype)
        self.ptr = 0
        if self.dtype.hasobject or any(n < 0 for n in self.shape):
            raise ValueError(f"no device array of {self.dtype} with the shape {self.shape}")
        self.nbytes = self.dtype.itemsize
        for n in self.shape:
            self.nbytes *= n
        self._driver = _driver()
        address = c_uint64()
        self._driver("cuMemAlloc_v2", byref(address), max(self.nbytes, 1))
        self.ptr = address.value

    def __del__(self):
        if getattr(self, "ptr", 0):
            self._driver.code("cuMemFree_v2", self.ptr)

    def __repr__(self):
        return f"DeviceArray({self.shape}, {self.dtype}, at {self.ptr:#x})"

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.ptr, False), "version": 3, "strides": None, "stream": 1}

    def copy_from(self, array):
        """Take the values of a NumPy array of this type and size."""
        a = numpy.ascontiguousarray(array)
        if a.dtype != self.dtype or a.nbytes != self.nbytes:
            raise ValueError(f"{a.dtype} with the shape {a.shape} does not fit {self!r}")
        self._driver("cuMemcpyHtoD_v2", self.ptr, a.ctypes.data, self.nbytes)
        return self

    def numpy(self):
        """A copy as a NumPy array."""
        out = numpy.empty(self.shape, self.dtype)
        self._driver("cuMemcpyDtoH_v2", out.ctypes.data, self.ptr, self.nbytes)
        return out


def empty(shape, dtype=numpy.float32):
    return DeviceArray(shape, dtype)


def to_device(array):
    """A DeviceArray with the values of `array`."""
    a = numpy.asarray(array)
    return DeviceArray(a.shape, a.dtype).copy_from(a)


class Module:
    """PTX, or a fatbin, loaded: `module["name"]` is a Kernel."""

    def __init__(self, image):
        if isinstance(image, str):
            image = image.encode()
        self._handle = c_void_p()
        self._driver = _driver()
        self._image = bytes(image) + b"\0"
        log = ctypes.create_string_buffer(65536)
        options = (c_int * 2)(_JIT_ERROR_LOG_BUFFER, _JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
        values = (c_void_p * 2)(ctypes.addressof(log), len(log))
        code = self._driver.code("cuModuleLoadDataEx", byref(self._handle), self._image, 2, options, values)
        if code and log.value:
            raise CompileError(log.value.decode(errors="replace").strip())
        self._driver.check("cuModuleLoadDataEx", code)

    def __del__(self):
        if getattr(self, "_handle", None):
            self._driver.code("cuModuleUnload", self._handle)

    @property
    def kernels(self):
        """The names of its kernels."""
        n = c_uint()
        self._driver("cuModuleGetFunctionCount", byref(n), self._handle)
        functions = (c_void_p * max(n.value, 1))()
        self._driver("cuModuleEnumerateFunctions", functions, n, self._handle)
        names = []
        for f in functions[:n.value]:
            name = c_char_p()
            self._driver("cuFuncGetName", byref(name), f)
            names.append(name.value.decode())
        return names

    def __getitem__(self, name):
        return Kernel(self, name)


def _three(n, what):
    t = (n,) if isinstance(n, (int, numpy.integer)) else tuple(n)
    if not 1 <= len(t) <= 3:
        raise ValueError(f"{what} has one to three numbers, not {n!r}")
    return tuple(int(x) for x in t) + (1,) * (3 - len(t))


class Kernel:
    """`kernel(x, 3.0, n, grid=8, block=128)`: a launch. Compiled when it is made."""

    def __init__(self, module, name):
        self.name = name
        self._module = module           # stays loaded as long as its kernels
        self._driver = module._driver
        self._handle = c_void_p()
        try:
            self._driver("cuModuleGetFunction", byref(self._handle), module._handle, name.encode())
        except CudaError as e:
            if e.name != "CUDA_ERROR_NOT_FOUND":
                raise
            raise KeyError(f"the module has no kernel {name}; it has {', '.join(module.kernels)}") from None
        self._driver("cuFuncLoad", self._handle)
        self.parameters = []            # bytes of each
        offset, size = c_size_t(), c_size_t()
        while True:
            code = self._driver.code("cuFuncGetParamInfo", self._handle, len(self.parameters), byref(offset), byref(size))
            if code == _INVALID_VALUE:
                break
            self._driver.check("cuFuncGetParamInfo", code)
            self.parameters.append(size.value)

    def __repr__(self):
        return f"Kernel({self.name}, parameters of {self.parameters} bytes)"

    def _value(self, i, x):
        """The parameter's bytes as a NumPy object."""
        size = self.parameters[i]
        where = f"{self.name}, argument {i + 1}"
        if isinstance(x, numpy.generic):     # before float, which numpy.float64 is, too
            if x.nbytes != size:
                raise TypeError(f"{where}: {x.dtype} has {x.nbytes} bytes, the parameter {size}")
            return numpy.array(x)
        if isinstance(x, bool):
            x = int(x)
        if isinstance(x, int):
            if size not in (1, 2, 4, 8):
                raise TypeError(f"{where}: the parameter has {size} bytes, so it is no number")
            if not -(1 << (8 * size - 1)) <= x < 1 << (8 * size):
                raise OverflowError(f"{where}: {x} does not fit into {size} bytes")
            return numpy.frombuffer((x % (1 << (8 * size))).to_bytes(size, "little"), numpy.uint8)
        if isinstance(x, float):
            if size not in (2, 4, 8):
                raise TypeError(f"{where}: the parameter has {size} bytes, so it is no float")
            return numpy.array(x, f"f{size}")
        raise TypeError(f"{where}: {type(x).__name__} is neither an array nor a number")

    def __call__(self, *arguments, grid, block, shared=0):
        """Launch. NumPy arrays are copied to the device before and back after it, which waits for the kernel; device arrays and numbers are handed over."""
        if len(arguments) != len(self.parameters):
            raise TypeError(f"{self.name} takes {len(self.parameters)} arguments, not {len(arguments)}")
        values, back = [], []
        for i, x in enumerate(arguments):
            interface = getattr(x, "__cuda_array_interface__", None)
            if interface is not None:
                values.append(self._value(i, int(interface["data"][0])))
            elif isinstance(x, numpy.ndarray):
                if not x.flags.c_contiguous:
                    raise ValueError(f"{self.name}, argument {i + 1}: the array is not C-contiguous")
                d = to_device(x)
                back.append((x, d))
                values.append(self._value(i, d.ptr))
            else:
                values.append(self._value(i, x))
        pointers = (c_void_p * max(len(values), 1))(*[v.ctypes.data for v in values])
        self._driver("cuLaunchKernel", self._handle, *_three(grid, "grid"), *_three(block, "block"), shared, None, pointers, None)
        if back:
            synchronize()
        for x, d in back:
            if x.flags.writeable:
                x[...] = d.numpy()
