"""Clusters the vectors of a file with scipy's distances and the linkage of fastcluster or scipy, and prints seconds of
processor time without reading the file, MiB of memory, the sum of the heights, and the number of classes at a threshold.

usage: peer.py FILE ENTRIES LINKAGE fastcluster|scipy [THRESHOLD]
"""

import resource
import sys
import time

import fastcluster
import numpy
import scipy.cluster.hierarchy
from scipy.spatial.distance import pdist

path, entries, method, library = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
vectors = numpy.fromfile(path, dtype="<i8").reshape(-1, entries).astype(float)
start = time.process_time()
distances = pdist(vectors, "cityblock")
if library == "scipy":
    merges = scipy.cluster.hierarchy.linkage(distances, method)
else:
    merges = fastcluster.linkage(distances, method, preserve_input=False)
classes = len(vectors)
if len(sys.argv) > 5:
    classes = scipy.cluster.hierarchy.fcluster(merges, float(sys.argv[5]), "distance").max()
seconds = time.process_time() - start
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, merges[:, 2].sum(), classes)
