# Prints what pyCubexR, a reader of Cube files by TU Darmstadt, reads of a profile: {metric: {location: {path: value}}} as JSON.
import json
import sys

from pycubexr import CubexParser

found = {}
with CubexParser(sys.argv[1]) as c:
    todo = [(n, "") for n in c.get_root_cnodes()]
    while todo:
        node, path = todo.pop()
        for m in c.all_metrics():
            for i, v in enumerate(c.get_metric_values(m).cnode_values(node).tolist()):
                if v:
                    found.setdefault(m.name, {}).setdefault(str(i), {})[path] = v
        todo += [(k, path + "/" + c.get_region(k).name) for k in node.get_children()]
json.dump(found, sys.stdout)
