"""Compares answers (int32, -1 for none) with shapely's covers, lowest feature first; prints one JSON line.

usage: covers.py MAP.json NAME [COUNT]: reads NAME.points (float64 pairs) and NAME.answers
"""
import array
import json
import sys

from shapely.geometry import Point, Polygon
from shapely.prepared import prep
from shapely.strtree import STRtree

map_file, name = sys.argv[1:3]
count = int(sys.argv[3]) if len(sys.argv) > 3 else None
features = json.load(open(map_file))["features"]
polygons, owner, prepared = [], {}, {}
for nth, feature in enumerate(features):
    for rings in feature["geometry"]["coordinates"]:
        polygon = Polygon(rings[0], rings[1:])
        owner[id(polygon)] = nth
        prepared[id(polygon)] = prep(polygon)
        polygons.append(polygon)
tree = STRtree(polygons)
points, answers = array.array("d"), array.array("i")
points.frombytes(open(name + ".points", "rb").read())
answers.frombytes(open(name + ".answers", "rb").read())

total = min(count or len(answers), len(answers))
step = len(answers) // total
on_border = off_border = 0
for i in range(0, total * step, step):
    point = Point(points[2 * i], points[2 * i + 1])
    near = tree.query(point)
    covering = [owner[id(p)] for p in near if prepared[id(p)].covers(point)]
    lowest = min(covering) if covering else -1
    if lowest == answers[i]:
        continue
    # Which rule holds exactly on a line is a matter of rounding; off it, none may differ.
    apart = min([p.boundary.distance(point) for p in near if owner[id(p)] in (lowest, answers[i])] or [1.0])
    if apart == 0.0:
        on_border += 1
    else:
        off_border += 1
print(json.dumps({"points": total, "onBorder": on_border, "offBorder": off_border}))
