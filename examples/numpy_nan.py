#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the direction of a sound source with two microphone arrays (conventional beamforming).

The calibration file of the second array gives one gain in thousandths of a decibel, and it is read as decibels. The scaled samples are huge
but finite; their products in the covariance are not: a complex product subtracts two of them, and Inf - Inf is NaN.
"""
import numpy as np

MICROPHONES, SNAPSHOTS, BLOCKS = 8, 256, 4
DIRECTIONS = np.radians(np.arange(-90, 91, 2))
GAINS_DB = {"east": [0.0, 1.2, -0.4, 0.0, 0.7, 0.0, -1.1, 0.3], "west": [0.0, 0.9, -0.2, 0.0, 0.0, 3200.0, 0.5, 0.0]}


def steering(angles):
    return np.exp(1j * np.pi * np.outer(np.arange(MICROPHONES), np.sin(angles)))


def snapshots(rng, angle):
    source = rng.normal(size=SNAPSHOTS) + 1j * rng.normal(size=SNAPSHOTS)
    noise = rng.normal(size=(MICROPHONES, SNAPSHOTS)) + 1j * rng.normal(size=(MICROPHONES, SNAPSHOTS))
    return steering(np.array([angle])) * source + 0.3 * noise


def strongest(rng, gains_db, angle):
    gain = 10.0 ** (np.array(gains_db) / 20.0)
    covariance = np.zeros((MICROPHONES, MICROPHONES), complex)
    for _ in range(BLOCKS):
        samples = gain[:, None] * snapshots(rng, angle)
        covariance += samples @ samples.conj().T / SNAPSHOTS
    beams = steering(DIRECTIONS)
    power = np.real(np.sum(beams.conj() * (covariance @ beams), axis=0))
    best = np.argmax(power)
    return np.degrees(DIRECTIONS[best]), power[best]


def main():
    rng = np.random.default_rng(7)
    for name, gains_db in GAINS_DB.items():
        with np.errstate(all="ignore"):
            direction, power = strongest(rng, gains_db, np.radians(20.0))
        print(f"{name}: source at {direction:.0f} degrees, power {power:.1f}")


if __name__ == "__main__":
    main()
