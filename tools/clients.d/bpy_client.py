# SPDX-License-Identifier: Apache-2.0
# pip: bpy==4.5.15 numpy==1.26.4
# time: long
"""Blender as a Python module: Cycles renders on its CUDA device, from the PTX that the wheel has for processors without a cubin of their own (8.0 is one). Its
CPU device renders what must come out: the same samples, so the pictures are alike to rounding."""
import os
import time

import bpy
import numpy as np

from cases import case, run

WIDTH, HEIGHT, SAMPLES = 96, 54, 16


def render(device):
    """The scene's picture, linear RGB."""
    cycles = bpy.context.preferences.addons["cycles"].preferences
    scene = bpy.context.scene
    scene.cycles.device = "CPU"
    if device == "CUDA":
        cycles.compute_device_type = "CUDA"
        cycles.refresh_devices()
        assert any(d.type == "CUDA" for d in cycles.devices)
        for d in cycles.devices:
            d.use = d.type == "CUDA"
        scene.cycles.device = "GPU"
    scene.render.engine = "CYCLES"
    scene.render.resolution_x, scene.render.resolution_y, scene.render.resolution_percentage = WIDTH, HEIGHT, 100
    scene.cycles.samples, scene.cycles.seed = SAMPLES, 1
    scene.cycles.use_denoising = scene.cycles.use_adaptive_sampling = False
    scene.render.image_settings.file_format, scene.render.image_settings.color_depth = "OPEN_EXR", "32"
    scene.render.filepath = os.path.abspath(f"{device}.exr")
    if os.path.exists(scene.render.filepath):
        os.unlink(scene.render.filepath)
    started = time.time()
    bpy.ops.render.render(write_still=True)
    print(f"# {device}: {time.time() - started:.1f} s", flush=True)
    image = bpy.data.images.load(scene.render.filepath)
    pixels = np.array(image.pixels[:]).reshape(HEIGHT, WIDTH, 4)[..., :3]
    bpy.data.images.remove(image)
    return pixels


def compare():
    want, got = render("CPU"), render("CUDA")
    assert want.std() > 0.01                                   # a picture of something
    error = np.mean((np.clip(got, 0, 1) - np.clip(want, 0, 1)) ** 2)
    decibel = -10 * np.log10(max(error, 1e-12))
    print(f"# {decibel:.1f} dB", flush=True)
    assert decibel >= 40, f"{decibel:.1f} dB"


@case
def default_cube():
    bpy.ops.wm.read_factory_settings(use_empty=False)
    compare()


@case
def glass():
    """A glass ball on a plane of another colour: refraction, total reflection, caustics of several bounces."""
    bpy.ops.wm.read_factory_settings(use_empty=False)
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    bpy.ops.mesh.primitive_plane_add(size=12, location=(0, 0, -1))
    floor = bpy.data.materials.new("floor")
    floor.use_nodes = True
    floor.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.8, 0.3, 0.1, 1)
    bpy.context.object.data.materials.append(floor)
    bpy.ops.mesh.primitive_uv_sphere_add(radius=1, segments=48, ring_count=24)
    bpy.ops.object.shade_smooth()
    glass_material = bpy.data.materials.new("glass")
    glass_material.use_nodes = True
    nodes = glass_material.node_tree.nodes
    shader = nodes.new("ShaderNodeBsdfGlass")
    shader.inputs["IOR"].default_value = 1.45
    glass_material.node_tree.links.new(shader.outputs["BSDF"], nodes["Material Output"].inputs["Surface"])
    bpy.context.object.data.materials.append(glass_material)
    compare()


run()
