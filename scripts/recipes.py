"""Runs the recipes of a page and compares their totals with a table of all transfers.

Usage: recipes.py PAGE FOLDER, a folder with the files of the page, and all.csv.
"""

import csv
import os
import re
import sys

path, folder = sys.argv[1], sys.argv[2]
with open(path) as file:
    first, *recipes = re.findall(r"```python\n(.*?)```", file.read(), re.S)
os.chdir(folder)
assert len(recipes) >= 3, f"{path}: {len(recipes)} recipes"
names = {}
exec(first, names)
own = "0x" + names["address"].hex()
with open("all.csv") as table:
    rows = [row for row in csv.DictReader(table) if row["from_address"].lower() == own]
expected = sum(int(row["value"]) for row in rows)
assert rows and expected, f"{own} sent nothing"
for recipe in recipes:
    engine = re.search(r"^(?:import|from) (\w+)", recipe, re.M)[1]
    scope = dict(names)
    exec(recipe, scope)
    assert scope["total"] == expected, f"{path}: {engine}: {scope['total']} instead of {expected}"
    print(f"{path}: {engine}: {len(rows)} transfers with a sum of {expected}")
