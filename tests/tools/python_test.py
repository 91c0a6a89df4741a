# SPDX-License-Identifier: Apache-2.0
"""The Python package, installed: on the device that CUDAWAY_DEVICE names. PREFIX is the installation, VECTOR_PTX a file of PTX, CLANG what compiles CUDA C."""

import os
import subprocess
import sys
import tempfile
import unittest

import cudaway
import numpy as np

PREFIX = os.environ["PREFIX"]
CLANG = os.environ.get("CLANG")
PTX = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 out, .param .u64 a, .param .u64 b, .param .f32 factor, .param .u32 count)
{ .reg .pred p; .reg .b32 i, n, t, c; .reg .f32 x, y, f; .reg .b64 o, q, r, s;
  ld.param.u64 o, [out]; ld.param.u64 q, [a]; ld.param.u64 r, [b]; ld.param.f32 f, [factor]; ld.param.u32 n, [count];
  mov.u32 c, %ctaid.x; mov.u32 t, %ntid.x; mov.u32 i, %tid.x; mad.lo.u32 i, c, t, i; setp.ge.u32 p, i, n; @p bra done;
  mul.wide.u32 s, i, 4; add.u64 o, o, s; add.u64 q, q, s; add.u64 r, r, s;
  ld.global.f32 x, [q]; ld.global.f32 y, [r]; fma.rn.f32 x, f, x, y; st.global.f32 [o], x;
done: ret; }
.visible .entry sizes(.param .u64 out, .param .f64 pd, .param .s16 ph, .param .u8 pb)
{ .reg .b64 o; .reg .f64 d; .reg .b16 h, b; .reg .b32 w;
  ld.param.u64 o, [out]; ld.param.f64 d, [pd]; ld.param.s16 h, [ph]; ld.param.u8 b, [pb];
  st.global.f64 [o], d; cvt.s32.s16 w, h; st.global.b32 [o+8], w; cvt.u32.u8 w, b; st.global.b32 [o+12], w; ret; }
"""
CUDA = """
#define INDEX (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
extern "C" __attribute__((global)) void scale(float *x, int n) { int i = INDEX; if (i < n) x[i] *= FACTOR; }
"""


class Test(unittest.TestCase):
    def test_device(self):
        self.assertIn("host" if os.environ["CUDAWAY_DEVICE"] == "host" else "gfx1100", cudaway.device_name())

    def test_vector_add(self):
        add = cudaway.load(PTX)["add"]
        self.assertEqual(add.parameters, [8, 8, 8, 4, 4])
        a = np.arange(1000, dtype=np.float32)
        b = np.full(1000, 0.5, np.float32)
        out = np.zeros(1000, np.float32)
        add(out, a, b, 2.0, 1000, grid=8, block=128)
        np.testing.assert_array_equal(out, 2 * np.arange(1000) + 0.5)
        np.testing.assert_array_equal(a, np.arange(1000))

    def test_device_arrays(self):
        add = cudaway.load(PTX)["add"]
        d = cudaway.to_device(np.ones((4, 5), np.float32))
        out = cudaway.empty((4, 5))
        add(out, d, d, np.float32(3), np.uint32(20), grid=(1,), block=(32, 1, 1))
        np.testing.assert_array_equal(out.numpy(), np.full((4, 5), 4, np.float32))
        self.assertEqual(out.__cuda_array_interface__["shape"], (4, 5))
        d.copy_from(np.full((4, 5), 7, np.float32))
        self.assertEqual(d.numpy()[3, 4], 7)
        with self.assertRaises(ValueError):
            d.copy_from(np.zeros(3, np.float32))

    def test_sizes_of_numbers(self):
        k = cudaway.load(PTX)["sizes"]
        out = cudaway.empty(16, np.uint8)
        k(out, -1.25, -3, 200, grid=1, block=1)
        raw = out.numpy()
        self.assertEqual(raw[:8].view(np.float64)[0], -1.25)
        self.assertEqual(raw[8:].view(np.int32).tolist(), [-3, 200])
        for wrong, error in ((1 << 16, OverflowError), (2.0j, TypeError), (np.float64(1), TypeError), ("x", TypeError)):
            with self.assertRaises(error):
                k(out, 1.0, wrong, 0, grid=1, block=1)

    @unittest.skipUnless(CLANG, "no clang")
    def test_cuda_c(self):
        for source in (CUDA, CUDA.encode()):
            m = cudaway.load(source, compiler=CLANG, define={"FACTOR": "3.0f"})
            self.assertEqual(m.kernels, ["scale"])
        x = np.arange(100, dtype=np.float32)
        m["scale"](x, x.size, grid=1, block=128)
        np.testing.assert_array_equal(x, 3 * np.arange(100))
        with self.assertRaisesRegex(cudaway.CompileError, "FACTOR"):
            cudaway.compile(CUDA, compiler=CLANG)

    def test_a_file_for_amd(self):
        code = cudaway.compile(os.environ["VECTOR_PTX"], target="gfx1100")
        self.assertEqual(code[:4], b"\x7fELF")
        both = cudaway.compile(os.environ["VECTOR_PTX"], target=["gfx1100", "gfx90a"])
        self.assertTrue(both.startswith(b"__CLANG_OFFLOAD_BUNDLE__"))

    def test_errors(self):
        bad = PTX.replace("fma.rn.f32", "frobnicate.f32")
        with self.assertRaisesRegex(cudaway.CompileError, r":10:.*error P"):
            cudaway.compile(bad)
        with self.assertRaisesRegex(cudaway.CompileError, "frobnicate"):
            cudaway.Module(bad)
        with self.assertRaisesRegex(cudaway.CompileError, "No such file"):
            cudaway.compile("missing.ptx")
        with self.assertRaisesRegex(KeyError, "no kernel mul; it has add, sizes"):
            cudaway.load(PTX)["mul"]
        add = cudaway.load(PTX)["add"]
        with self.assertRaisesRegex(TypeError, "takes 5 arguments, not 1"):
            add(1, grid=1, block=1)
        with self.assertRaises(cudaway.CudaError) as e:
            add(0, 0, 0, 1.0, 0, grid=1, block=2048)
        self.assertEqual((e.exception.name, e.exception.code), ("CUDA_ERROR_INVALID_VALUE", 1))
        with self.assertRaises(ValueError):
            add(np.zeros((4, 4), np.float32).T, 0, 0, 1.0, 0, grid=1, block=32)
        with self.assertRaisesRegex(cudaway.Error, "before anything else"):
            cudaway.use(device="host")

    @unittest.skipUnless(os.path.exists(os.path.join(PREFIX, "bin", "cudaway-trace")), "no cudaway-trace")
    def test_a_recording(self):
        program = """
import sys, numpy, cudaway
cudaway.use(sys.argv[1])
x = numpy.ones(64, numpy.float32)
cudaway.load(open(sys.argv[2]).read())["add"](x, x, x, 1.0, 64, grid=2, block=32)
"""
        with tempfile.TemporaryDirectory() as folder:
            ptx, recording = os.path.join(folder, "k.ptx"), os.path.join(folder, "recording")
            with open(ptx, "w") as f:
                f.write(PTX)
            done = subprocess.run([os.path.join(PREFIX, "bin", "cudaway-trace"), "record", "-q", "-o", recording, "--", sys.executable, "-c", program, PREFIX, ptx],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
            r = cudaway.trace.read(recording)
            launches = [c for c in r.calls if c["function"] == "cuLaunchKernel"]
            self.assertEqual(len(launches), 1)
            self.assertEqual(launches[0]["result"], "CUDA_SUCCESS")
            self.assertEqual([int(launches[0]["args"][k]) for k in ("gridDimX", "blockDimX")], [2, 32])
            self.assertEqual(r.report["launches"], 1)
            self.assertEqual(len(cudaway.trace.read(recording, function="^cuMemAlloc")), 3)
            self.assertEqual(len(cudaway.trace.read(recording, failed=True)), 1)        # cuFuncGetParamInfo behind the last
            try:
                import pandas
            except ImportError:
                with self.assertRaises(ImportError):
                    r.frame()
            else:
                frame = r.frame()
                self.assertEqual(len(frame), len(r))
                self.assertEqual(frame[frame.function == "cuLaunchKernel"]["args.blockDimX"].astype(int).tolist(), [32])
                self.assertTrue(isinstance(frame.time.iloc[0], pandas.Timestamp))
                self.assertEqual([t.value for t in frame.time], [c["time_ns"] for c in r.calls])
            with self.assertRaisesRegex(cudaway.Error, "nowhere"):
                cudaway.trace.read(os.path.join(folder, "nowhere"))


if __name__ == "__main__":
    cudaway.use(PREFIX)
    unittest.main()
