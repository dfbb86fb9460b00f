"""Compares the patterns that were found with those that were planted.

Usage: bench-patterns.py TRUTH FOUND: the truth of a chain of `chaingen --profile exchanges`, and
the answer of `txgraph analyze patterns -f json`. Prints a table.

A finding is right if at least half of its transfers are those of one planted scenario that fits
the rule. A planted scenario counts as found if a right finding has at least half of its transfers,
for fans a quarter, because a fan is one side of its scenario. A finding about transfers that were not
planted is wrong, even if they happen to fit the rule.
"""

import json
import sys
from collections import Counter

# The scenarios that fit each rule. A fan in and out of equal amounts also fits the rule of mixers.
FITTING = {
    "peel-chain": ["peel-chain", "peel-chain-ether"],
    "round-trip": ["wash-cycle"],
    "scatter-gather": ["scatter-gather"],
    "sweep": ["deposit-sweep"],
    "fan-in": ["fan-in-fan-out", "mixer"],
    "fan-out": ["fan-in-fan-out", "mixer", "hub"],
    "mixer": ["mixer", "fan-in-fan-out"],
    "airdrop": ["airdrop"],
    "poisoning": ["address-poisoning"],
    "drainer": ["drainer"],
}


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


truth, found = (json.load(open(path)) for path in sys.argv[1:3])
scenario_of, edges = {}, Counter()
for scenario in truth["scenarios"]:
    name = (scenario["scenario"], scenario["number"])
    for edge in scenario["edges"]:
        scenario_of[edge["block"], edge["tx_index"], edge["log_index"]] = name
        edges[name] += 1

print("| pattern | planted | found | right | planted that were found | precision | recall |")
print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
wrong = {}
for rule in found["result"]["rules"]:
    pattern, fitting = rule["pattern"], FITTING[rule["pattern"]]
    planted = {name for name in edges if name[0] in fitting}
    right, all_found, met = 0, 0, Counter()
    for finding in found["result"]["findings"]:
        if finding["pattern"] != pattern:
            continue
        all_found += 1
        rows = finding["evidence"]
        keys = {(it["block_number"], it["transaction_index"], it["log_index"]) for it in rows}
        names = Counter(scenario_of.get(key) for key in keys)
        best = max((name for name in names if name in planted), key=names.get, default=None)
        if best is not None and 2 * names[best] >= len(keys):
            right += 1
            met[best] = max(met[best], names[best])
        else:
            most = names.most_common(1)[0][0]
            kind = most[0] if most else "traffic"
            wrong.setdefault(pattern, Counter())[kind] += 1
    assert all_found == rule["found"], f"{pattern}: {all_found} of {rule['found']} are listed"
    part = 4 if pattern.startswith("fan-") else 2
    recalled = sum(met[name] * part >= edges[name] for name in planted)
    print(
        f"| `{pattern}` | {len(planted)} | {all_found} | {right} | {recalled} "
        f"| {share(right, all_found)} | {share(recalled, len(planted))} |"
    )
print()
for pattern, kinds in wrong.items():
    text = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    print(f"Not planted, `{pattern}`: {text}")
