#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# insn.py DIR: writes the tables for test_insn.c. What an instruction does is written down here from AMD's ISA documents ("Vega", "CDNA2",
# "CDNA3", "RDNA1" to "RDNA4"), on integers and exact fractions; run by hand, never by the build.
import os
import sys

import memory
import media
import minima
import scalars
import vectors
from table import lines

PARTS = (('integers', vectors.integers), ('carries', vectors.carries), ('halves', vectors.halves), ('floats', vectors.floats),
         ('modifiers', vectors.modifiers), ('conversions', vectors.conversions), ('comparisons', vectors.comparisons),
         ('crossing', vectors.crossing), ('packed', vectors.packed), ('scalars', scalars.scalars), ('memory', memory.loads_and_stores),
         ('atomics', memory.atomics), ('control', scalars.exec_and_control), ('scalars2', scalars.more_scalars),
         ('vectors2', vectors.more_vectors), ('atomics2', memory.more_atomics), ('images', memory.images), ('named', scalars.named),
         ('media', media.media), ('minima', minima.minima), ('fields', minima.fields))


def main():
    for name, part in PARTS:
        lines.clear()
        lines.append('# SPDX-License-Identifier: Apache-2.0')
        lines.append('# Written by tests/gfxemu/author/insn.py; test_insn.c says what it means.')
        part()
        with open(os.path.join(sys.argv[1], name + '.insn'), 'w') as f:
            f.write('\n'.join(lines) + '\n')


main()
