# SPDX-License-Identifier: Apache-2.0
# pip: --no-deps openmm==8.6.1 OpenMM-CUDA-13==8.6.1 numpy==2.4.6 nvidia-cuda-nvrtc==13.0.88 nvidia-cufft==12.0.0.61
# time: long
"""OpenMM: molecular dynamics, whose CUDA platform makes kernels for each system through NVRTC. Energies and forces beside those of OpenMM's
Reference platform, plain C++ in double precision; motion by conservation laws. PME needs cuFFT, whose kernels are machine code: Ewald's sum stands
for it here."""
import numpy as np
import openmm as mm
from openmm import unit

from cases import case, run

rng = np.random.default_rng(1)
SIDE = 2.4                                                     # nm


def particles(n, mass=12.0, periodic=True):
    system = mm.System()
    for _ in range(n):
        system.addParticle(mass)
    if periodic:
        system.setDefaultPeriodicBoxVectors((SIDE, 0, 0), (0, SIDE, 0), (0, 0, SIDE))
    return system


def lattice(n):
    """n points of a cubic lattice in the box, moved a little."""
    k = int(np.ceil(n ** (1 / 3)))
    grid = np.array(np.meshgrid(*[np.arange(k)] * 3)).reshape(3, -1).T[:n]
    return (grid + 0.5) * SIDE / k + rng.uniform(-0.03, 0.03, (n, 3))


def state(system, positions, platform, **properties):
    context = mm.Context(system, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName(platform), properties)
    context.setPositions(positions)
    s = context.getState(getEnergy=True, getForces=True)
    return s.getPotentialEnergy()._value, np.array(s.getForces(asNumpy=True)._value)


def agrees(system, positions, precision="mixed", tolerance=2e-4):
    energy, forces = state(system, positions, "CUDA", Precision=precision)
    want_energy, want_forces = state(system, positions, "Reference")
    assert abs(energy - want_energy) <= tolerance * max(1, abs(want_energy)), (energy, want_energy)
    np.testing.assert_allclose(forces, want_forces, tolerance, tolerance * np.abs(want_forces).max())


def charged(n, method):
    system, force = particles(n), mm.NonbondedForce()
    for i in range(n):
        force.addParticle(0.5 if i % 2 else -0.5, 0.25, 0.4)
    force.setNonbondedMethod(method)
    force.setCutoffDistance(0.9)
    for i in range(0, n - 1, 2):
        force.addException(i, i + 1, 0, 1, 0)
    system.addForce(force)
    return system


@case
def bonded():
    n = 60
    system, positions = particles(n, periodic=False), np.cumsum(rng.uniform(-0.1, 0.15, (n, 3)), axis=0)
    bonds, angles, torsions = mm.HarmonicBondForce(), mm.HarmonicAngleForce(), mm.PeriodicTorsionForce()
    for i in range(n - 3):
        bonds.addBond(i, i + 1, 0.15, 1000)
        angles.addAngle(i, i + 1, i + 2, 1.9, 50)
        torsions.addTorsion(i, i + 1, i + 2, i + 3, 3, 0.5, 2)
    for f in (bonds, angles, torsions):
        system.addForce(f)
    agrees(system, positions)


@case
def cutoff():
    agrees(charged(512, mm.NonbondedForce.CutoffPeriodic), lattice(512))


@case
def ewald():
    agrees(charged(216, mm.NonbondedForce.Ewald), lattice(216), tolerance=1e-3)


@case
def double_precision():
    agrees(charged(300, mm.NonbondedForce.CutoffPeriodic), lattice(300), "double", 1e-6)


@case
def single_precision():
    agrees(charged(300, mm.NonbondedForce.CutoffPeriodic), lattice(300), "single", 1e-3)


@case
def custom_forces():
    n = 200
    system, pair, outer = particles(n), mm.CustomNonbondedForce("a1*a2*exp(-3*r)/r"), mm.CustomExternalForce("k*sin(x)*(y^2+cos(z))")
    pair.addPerParticleParameter("a")
    outer.addGlobalParameter("k", 3.5)
    for i in range(n):
        pair.addParticle([0.1 * (i % 7)])
        outer.addParticle(i)
    pair.setNonbondedMethod(mm.CustomNonbondedForce.CutoffPeriodic)
    pair.setCutoffDistance(0.8)
    system.addForce(pair)
    system.addForce(outer)
    agrees(system, lattice(n))


@case
def generalized_born():
    n = 100
    system, force = particles(n, periodic=False), mm.GBSAOBCForce()
    charges = mm.NonbondedForce()
    for i in range(n):
        force.addParticle((-1) ** i * 0.3, 0.15 + 0.01 * (i % 5), 0.8)
        charges.addParticle((-1) ** i * 0.3, 0.3, 0.5)
    system.addForce(force)
    system.addForce(charges)
    agrees(system, lattice(n))


@case
def verlet_keeps_energy():
    system = charged(216, mm.NonbondedForce.CutoffPeriodic)
    context = mm.Context(system, mm.VerletIntegrator(0.0005), mm.Platform.getPlatformByName("CUDA"), {"Precision": "mixed"})
    context.setPositions(lattice(216))
    mm.LocalEnergyMinimizer.minimize(context, maxIterations=20)
    context.setVelocitiesToTemperature(100, 1)
    energies = []
    for _ in range(5):
        context.getIntegrator().step(10)
        s = context.getState(getEnergy=True, getVelocities=True)
        energies.append((s.getPotentialEnergy() + s.getKineticEnergy())._value)
    kinetic = s.getKineticEnergy()._value
    assert kinetic > 10, kinetic
    assert max(energies) - min(energies) < 0.02 * kinetic, (energies, kinetic)


@case
def langevin_with_constraints():
    """Pairs held at a distance by constraints, in a heat bath: lengths stay, the temperature comes near."""
    n = 400
    system = particles(n)
    start = lattice(n // 2)
    positions = np.repeat(start, 2, axis=0)
    positions[1::2, 0] += 0.1
    for i in range(0, n, 2):
        system.addConstraint(i, i + 1, 0.1)
    integrator = mm.LangevinMiddleIntegrator(300, 50.0, 0.002)
    integrator.setRandomNumberSeed(7)
    context = mm.Context(system, integrator, mm.Platform.getPlatformByName("CUDA"), {"Precision": "mixed"})
    context.setPositions(positions)
    integrator.step(100)
    s = context.getState(getPositions=True, getEnergy=True)
    p = np.array(s.getPositions(asNumpy=True)._value)
    np.testing.assert_allclose(np.linalg.norm(p[1::2] - p[::2], axis=1), 0.1, 1e-4)
    temperature = 2 * s.getKineticEnergy() / (5 * n // 2 * unit.MOLAR_GAS_CONSTANT_R)      # 5 degrees of freedom a pair
    assert 240 < temperature.value_in_unit(unit.kelvin) < 360, temperature


run()
