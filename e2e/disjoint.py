#!/usr/bin/env python3
"""Reads CIDRs, one a line, and ends with 1 when two of them share an address. Prints how many there were."""

import ipaddress
import sys

blocks = sorted((ipaddress.ip_network(line.strip()) for line in sys.stdin if line.strip()), key=lambda block: (block.version, block.network_address, block.prefixlen))
# In the order of their first addresses, and none over another so far: only neighbours can overlap.
for before, after in zip(blocks, blocks[1:]):
    if before.version == after.version and before.overlaps(after):
        sys.exit(f"{before} and {after} overlap")
print(len(blocks))
