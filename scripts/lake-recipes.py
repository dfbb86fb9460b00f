"""Runs the recipes of docs/lake.md and compares their totals with a table of all transfers.

Usage: lake-recipes.py docs/lake.md FOLDER, a folder with transfers.lake and all.csv.
"""

import csv
import os
import re
import sys

page, folder = open(sys.argv[1]).read(), sys.argv[2]
os.chdir(folder)
first, *recipes = re.findall(r"```python\n(.*?)```", page, re.S)
assert len(recipes) == 3, f"{len(recipes)} recipes"
names = {}
exec(first, names)
own = "0x" + names["address"].hex()
with open("all.csv") as table:
    rows = [row for row in csv.DictReader(table) if row["from_address"].lower() == own]
expected = sum(int(row["value"]) for row in rows)
assert rows and expected, f"{own} sent nothing"
for recipe in recipes:
    scope = dict(names)
    exec(recipe, scope)
    [engine] = re.findall(r"^import (\w+)", recipe, re.M)
    assert scope["total"] == expected, f"{engine}: {scope['total']} instead of {expected}"
    print(f"{engine}: {len(rows)} transfers with a sum of {expected}")
